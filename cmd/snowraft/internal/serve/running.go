package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
)

// running is a process that runs until a signal arrives or it ends by itself.
type running struct {
	process
	what   string // for the log
	logger *slog.Logger
	ready  func() []any // what is said of it when it is ready
}

// gcPercent is by how much the heap of a server grows between two collections of garbage, unless
// its environment says something of that: the heap is small, and every call leaves garbage, so that
// by Go's default, 100, a sizable part of the time goes into collecting (docs/performance.md).
const gcPercent = 400

// collectSeldom trades some memory for that time.
func (h *Host) collectSeldom() {
	if h.Env("GOGC") == "" && h.Env("GOMEMLIMIT") == "" {
		h.collectAt(gcPercent)
	}
}

// untilEnd runs it, and closes it in good order. ctx ends with the first signal; stop ends
// ctx and lets signals go.
func (h *Host) untilEnd(ctx context.Context, again <-chan os.Signal, stop func(), r running) error {
	announced := make(chan struct{})
	go func() {
		defer close(announced)
		r.announceReady(ctx)
	}()

	var ended error
	select {
	case <-ctx.Done():
		r.logger.Info(r.what + " stops; a second signal ends it at once")
	case <-r.Done():
		if ended = r.Err(); ended == nil {
			r.logger.Info(r.what + " left the cluster")
		}
	}
	stopErr := closeInOrder(again, r.Close)
	stop()
	<-announced
	if ended == nil && stopErr == nil {
		r.logger.Info(r.what + " stopped")
	}
	return errors.Join(ended, stopErr)
}

// announceReady logs when it can issue IDs, and why it waits until then.
func (r running) announceReady(ctx context.Context) {
	told := false
	err := waitReady(ctx, r, func(problem error) {
		if !told {
			told = true
			r.logger.Info(r.what+" waits until it can issue IDs", "because", problem)
		}
	})
	if err == nil {
		r.logger.Info(r.what+" is ready to issue IDs", r.ready()...)
	}
}
