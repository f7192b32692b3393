package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/snowraft/snowraft/server"
)

// app is what the commands touch of the world outside.
type app struct {
	stdout, stderr io.Writer
	env            func(name string) string // what is empty is not set
	now            func() time.Time
	// signals starts to deliver SIGINT and SIGTERM; commands that don't ask for
	// them are ended by them, as any program is.
	signals func() (arrived <-chan os.Signal, stop func())
	// collectAt sets by how many percent the heap grows between two collections of garbage.
	collectAt func(percent int)
	// open starts a member.
	open func(context.Context, server.Config) (member, error)
	// openGateway starts a gateway.
	openGateway func(context.Context, server.GatewayConfig) (process, error)
}

// process is a running member or gateway.
type process interface {
	// Done is closed when it must end by itself; Err tells why, nil after a member left.
	Done() <-chan struct{}
	Err() error
	Close(context.Context) error
	// Ready is nil when IDs can be issued now.
	Ready() error
	APIAddr() string
	HTTPAddr() string
	RedisAddr() string // empty when it does not listen
}

// member is a running member of a cluster.
type member interface {
	process
	RaftAddr() string
	GossipAddr() string
	ClusterID() string
	NodeID() string
}

var (
	_ member  = (*server.Server)(nil)
	_ process = (*server.Gateway)(nil)
)

// system is the app of the real process.
func system() *app {
	return &app{
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		env:       os.Getenv,
		now:       time.Now,
		signals:   processSignals,
		collectAt: func(percent int) { debug.SetGCPercent(percent) },
		open: func(ctx context.Context, cfg server.Config) (member, error) {
			s, err := server.Open(ctx, cfg)
			if err != nil {
				return nil, err // a nil *Server would be a member that is not nil
			}
			return s, nil
		},
		openGateway: func(ctx context.Context, cfg server.GatewayConfig) (process, error) {
			g, err := server.OpenGateway(ctx, cfg)
			if err != nil {
				return nil, err // as above
			}
			return g, nil
		},
	}
}

func processSignals() (<-chan os.Signal, func()) {
	arrived := make(chan os.Signal, 2) // the first asks to stop, the second to stop at once
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	return arrived, func() { signal.Stop(arrived) }
}

// terminal reports whether w is a terminal that may be decorated: with colours,
// unless NO_COLOR (https://no-color.org) is set, and with progress.
func (a *app) terminal(w io.Writer) (terminal, colours bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, false
	}
	return true, a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}
