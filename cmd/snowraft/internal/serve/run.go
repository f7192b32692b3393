package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/cgroup"
	"github.com/snowraft/snowraft/internal/tracing"
)

// started is a process that has started, with the attributes of its log lines.
type started struct {
	process
	tracer *tracing.Tracer // closed after the process
	about  []any
	ready  func() []any
}

// gcPercent is the growth of a server's heap between two garbage collections, in percent, unless the
// environment sets it. The heap is small, and every call leaves garbage, so that with Go's default, 100,
// garbage collection takes a sizable part of the time (docs/performance.md).
const gcPercent = 400

// Close shuts the process down gracefully, and then sends the remaining spans.
func (p started) Close(ctx context.Context) error {
	err := p.process.Close(ctx)
	p.tracer.Close(ctx)
	return err
}

// run opens a process, runs it until a signal arrives or it stops, and closes it gracefully.
func (h *Host) run(ctx context.Context, what string, cfg *config, open func(context.Context) (started, error)) error {
	ctx, again, stop := h.Interruptible(ctx)
	defer stop()
	if h.Env("GOGC") == "" && h.Env("GOMEMLIMIT") == "" {
		h.collectAt(gcPercent) // trades some memory for time
	}
	if h.Env("GOMEMLIMIT") == "" {
		if limit := cgroup.MemoryLimit(h.root); limit > 0 {
			h.limitMemory(limit / 10 * 9) // the rest is for memory that Go does not count
		}
	}
	cfg.Logger, cfg.Version = h.logger(logLevels[cfg.logLevel], cfg.logFormat), h.Version
	p, err := open(ctx)
	logger := cfg.Logger // the logger that open has set
	if err != nil {
		if ctx.Err() != nil {
			return nil // a signal arrived during the start
		}
		return err
	}
	if redis := p.RedisAddr(); redis != "" {
		p.about = append(p.about, "redis", redis)
	}
	if thrift := p.ThriftAddr(); thrift != "" {
		p.about = append(p.about, "thrift", thrift)
	}
	for _, s := range sockets {
		if at := s.field(&cfg.Config); at.Path != "" {
			p.about = append(p.about, strings.ReplaceAll(s.flag, "-", "_"), at.Path)
		}
	}
	logger.Info(what+" started", p.about...)
	manager := h.supervisor(logger)
	manager.serving(ctx, p)
	announced := make(chan struct{})
	go func() {
		defer close(announced)
		p.announceReady(ctx, what, logger)
	}()

	var ended error
	select {
	case <-ctx.Done():
		logger.Info(what + " stopping; a second signal stops it at once")
	case <-p.Done():
		if ended = p.Err(); ended == nil {
			logger.Info(what + " left the cluster")
		}
	}
	manager.stopping(ended)
	stopErr := closeInOrder(again, func(ctx context.Context) error {
		err := p.Close(ctx)
		<-announced // before the last line of the log; never if the process is stuck
		return err
	})
	if ended == nil && stopErr == nil {
		logger.Info(what + " stopped")
	}
	return errors.Join(ended, stopErr)
}

// announceReady logs when the process can issue IDs, and why it cannot issue IDs before.
func (p started) announceReady(ctx context.Context, what string, logger *slog.Logger) {
	logged := false
	err := waitReady(ctx, p, func(problem error) {
		if !logged {
			logged = true
			logger.Info(what+" waits until it can issue IDs", "reason", problem)
		}
	})
	if err == nil {
		logger.Info(what+" is ready to issue IDs", p.ready()...)
	}
}

const (
	// shutdownLimit is the longest time of a graceful shutdown.
	shutdownLimit = 10 * time.Second
	// stopTime is the part of shutdownLimit that is left for the last step of a shutdown, which no context bounds.
	stopTime = 2 * time.Second
	// sameSignal is the time after the first signal in which a second one counts as the same
	// signal: tools such as timeout and some init programs send a signal to the process and to
	// its group.
	sameSignal = 100 * time.Millisecond
)

// closeInOrder calls shut and waits until it returns, shutdownLimit has passed or
// another signal arrives.
func closeInOrder(again <-chan os.Signal, shut func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit-stopTime)
	defer cancel()
	limit := time.After(shutdownLimit)
	done := make(chan error, 1)
	go func() { done <- shut(ctx) }()
	same := time.After(sameSignal)
	for {
		select {
		case err := <-done:
			return err
		case <-same:
			same = nil
		case <-again:
			if same == nil {
				return errors.New("stopped by a second signal before the shutdown was complete")
			}
		case <-limit:
			return fmt.Errorf("the shutdown was not complete after %v", shutdownLimit)
		}
	}
}
