package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// leases are the workers of one command.
type leases []*client.HeldWorker

// lease leases the workers. After an error, it returns those that it got.
func lease(ctx context.Context, c *client.Client, s settings, a *cli.App) (leases, error) {
	options := []client.WorkerOption{
		client.WithWorkerLayout(s.layout), client.WithWorkerBelow(s.below), client.WithWorkerProgram("worker run", a.Version),
		client.WithWorkerLogger(slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{ReplaceAttr: forPeople}))),
	}
	if s.holder != "" {
		options = append(options, client.WithWorkerHolder(s.holder))
	}
	var all leases
	for range s.count {
		h, err := client.HoldWorker(ctx, c, options...)
		if err != nil {
			return all, err
		}
		all = append(all, h)
	}
	return all, nil
}

// forPeople words the errors in the log as those of other commands, with advice.
func forPeople(_ []string, attr slog.Attr) slog.Attr {
	if err, ok := attr.Value.Any().(error); ok {
		attr.Value = slog.StringValue(cli.Worded(err).Error())
	}
	return attr
}

// window returns the time that the windows have in common.
func (l leases) window() (from, until time.Time) {
	from, until = l[0].Window()
	for _, h := range l[1:] {
		begin, end := h.Window()
		if begin.After(from) {
			from = begin
		}
		if end.Before(until) {
			until = end
		}
	}
	return from, until
}

// lost reports whether a worker was lost.
func (l leases) lost() bool {
	for _, h := range l {
		select {
		case <-h.Lost():
			return true
		default:
		}
	}
	return false
}

// problem returns the reason why a window was not extended.
func (l leases) problem() error {
	for _, h := range l {
		if err := h.Problem(); err != nil {
			return err
		}
	}
	return nil
}

// allow reports whether IDs until a time were allowed for all workers. The next holders begin after it.
func (l leases) allow(last time.Time) bool {
	for _, h := range l {
		if !h.Allows(last) {
			return false
		}
	}
	return true
}

// close releases the workers.
func (l leases) close(ctx context.Context, a *cli.App) {
	for _, h := range l {
		if err := h.Close(ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("no answer in time")
			}
			a.Warn("worker %d not released; it becomes free when its window ends: %v", h.Worker(), cli.Worded(err))
		}
	}
}

// abandon lets the windows end.
func (l leases) abandon() {
	for _, h := range l {
		h.Abandon()
	}
}
