// Package clitest runs commands in a process whose outside world, a [World], is in memory, against a fake
// member, an [API]. Only tests import it.
package clitest

import (
	"bytes"
	"os"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// World is the environment of an app in memory.
type World struct {
	In       bytes.Buffer      // standard input
	Out, Err Buffer            // standard output and standard error
	Environ  map[string]string // environment variables
	Config   string            // directory for the user's configuration; empty: contexts are off
	Columns  int               // width of the terminal at standard output; 0 without a terminal
	Attended bool              // a person is at the terminal
	Sent     chan os.Signal    // delivers SIGINT and SIGTERM
	HungUp   chan os.Signal    // delivers SIGHUP
}

// New returns a world whose environment is empty and whose clock stands at 0.
func New() *World {
	return &World{Environ: map[string]string{}, Sent: make(chan os.Signal, 2), HungUp: make(chan os.Signal, 1)}
}

// App returns an app of a version in this world.
func (w *World) App(version string) *cli.App {
	a := &cli.App{
		Stdin:          &w.In,
		Stdout:         &w.Out,
		Stderr:         &w.Err,
		Env:            func(name string) string { return w.Environ[name] },
		Unsynchronised: func() bool { return false },
		Now:            func() time.Time { return time.Unix(0, 0) },
		Columns:        func() int { return w.Columns },
		Attended:       func() bool { return w.Attended },
		Signals:        func() (<-chan os.Signal, func()) { return w.Sent, func() {} },
		Hangups:        func() (<-chan os.Signal, func()) { return w.HungUp, func() {} },
		Version:        version,
	}
	if w.Config != "" {
		a.ConfigDir = func() (string, error) { return w.Config, nil }
	}
	return a
}

// Buffer is a bytes.Buffer that one goroutine can read while another writes it.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
