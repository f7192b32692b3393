// Package cli is the kit of the commands: output, flags, errors, and calls to a cluster.
//
// A command is a function that returns a *cobra.Command. [App.Client] makes it one that
// asks a cluster, [App.Offline] one that does not; cmd/snowraft/internal/leader is one to copy.
package cli

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// App is what the commands touch of the world outside.
type App struct {
	Stdout, Stderr io.Writer
	Env            func(name string) string // what is empty is not set
	Now            func() time.Time
	// Signals starts to deliver SIGINT and SIGTERM; commands that don't ask for
	// them are ended by them, as any program is.
	Signals func() (arrived <-chan os.Signal, stop func())
	Version string // of this program
}

// System is the app of the real process, a program of this version.
func System(version string) *App {
	return &App{
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Env:     os.Getenv,
		Now:     time.Now,
		Signals: processSignals,
		Version: version,
	}
}

// Terminal reports whether w is a terminal, where progress may be shown, and returns the
// style of text there: with colours, unless NO_COLOR (https://no-color.org) is set.
func (a *App) Terminal(w io.Writer) (terminal bool, s Style) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, Style{}
	}
	return true, Style{Colours: a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb"}
}
