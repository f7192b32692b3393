// Package cli is the kit of the commands: output, flags, errors, and calls to a cluster.
//
// A command is a function that returns a *cobra.Command. [App.Client] makes it a command that calls a
// cluster, [App.Command] a command that does not; cmd/snowraft/internal/leader is an example to copy. The
// main type is [App].
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"golang.org/x/term"

	"github.com/snowraft/snowraft/internal/clock"
)

// App is the environment of the commands: input, output, time and signals.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(name string) string // an empty value counts as not set
	Now            func() time.Time
	// ConfigDir returns the directory for the configuration of the user; nil: contexts are off.
	ConfigDir func() (string, error)
	// Unsynchronised reports whether the kernel says that no service keeps its clock.
	Unsynchronised func() bool
	// Columns returns the width of the terminal at Stdout; 0 without a terminal.
	Columns func() int
	// Attended reports whether a person is at the terminal, who reads Stderr and writes Stdin.
	Attended func() bool
	// Signals starts to deliver SIGINT and SIGTERM. The signals terminate the process
	// of a command that does not call it.
	Signals func() (arrived <-chan os.Signal, stop func())
	// Hangups starts to deliver SIGHUP, for processes that reload files. SIGHUP terminates other processes.
	Hangups    func() (arrived <-chan os.Signal, stop func())
	Version    string // version of this program
	jsonErrors bool   // print errors as JSON
}

// System returns the app of the real process, a program of the given version.
func System(version string) *App {
	return &App{
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		Env:            os.Getenv,
		Now:            time.Now,
		ConfigDir:      os.UserConfigDir,
		Unsynchronised: clock.Unsynchronised,

		Columns:  columns,
		Attended: func() bool { return isTerminal(os.Stdin) && isTerminal(os.Stderr) },
		Signals:  notifies(2, os.Interrupt, syscall.SIGTERM), // the first requests a shutdown, the second an immediate exit
		Hangups:  notifies(1, syscall.SIGHUP),
		Version:  version,
	}
}

// Run executes a command line of a tree of commands and returns the exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	a.jsonErrors = wantsJSON(args)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetUsageFunc(usage)
	each(root, func(cmd *cobra.Command) { cmd.Long = refold(cmd.Long) })
	root.SetFlagErrorFunc(FlagError)
	root.SetArgs(append([]string{}, args...)) // never nil: for nil, cobra uses the arguments of the process
	return a.exit(root.ExecuteContext(ctx))
}

// each visits a command and all commands below it.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, visit)
	}
}

// Terminal reports whether w is a terminal, where progress may be shown. It returns the style of text there:
// with colors, unless NO_COLOR (https://no-color.org) is set.
func (a *App) Terminal(w io.Writer) (terminal bool, s Style) {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return false, Style{}
	}
	return true, Style{Colours: a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb"}
}

func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Interruptible returns a context that ends at the first SIGINT or SIGTERM, the channel on which a second one
// arrives, and a function that ends the context and the delivery. The caller must call that function.
func (a *App) Interruptible(ctx context.Context) (context.Context, <-chan os.Signal, func()) {
	arrived, ignore := a.Signals()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-arrived:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, arrived, func() {
		cancel()
		ignore()
	}
}

// notifies returns a function that begins the delivery of signals, of which at most waiting wait, and ends it.
func notifies(waiting int, signals ...os.Signal) func() (<-chan os.Signal, func()) {
	return func() (<-chan os.Signal, func()) {
		arrived := make(chan os.Signal, waiting)
		signal.Notify(arrived, signals...)
		return arrived, func() { signal.Stop(arrived) }
	}
}
