package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/sdnotify"
)

// superviseInterval is the longest interval between checks of a process.
const superviseInterval = time.Second

// manager is the service manager that started this process, such as systemd.
type manager interface {
	Notify(states ...sdnotify.State) error
	// Watchdog returns the time after which the manager restarts a process that sends no sign of life; 0 means never.
	Watchdog() time.Duration
}

// inherit returns the manager that the environment names, or nil.
func inherit() (manager, error) {
	m, err := sdnotify.Inherit()
	if m == nil {
		return nil, err
	}
	return m, err
}

// supervisor reports a process to its manager. Without a manager it does nothing.
type supervisor struct {
	manager manager
	logger  *slog.Logger
}

func (h *Host) supervisor(logger *slog.Logger) supervisor {
	m, err := h.manager()
	if err != nil {
		logger.Warn("variables of the service manager not understood; it may restart this process", "error", err)
	}
	return supervisor{m, logger}
}

// serving reports that p serves its ports, and starts watch.
func (s supervisor) serving(ctx context.Context, p process) {
	if s.manager != nil {
		status := readiness(p)
		s.notify(sdnotify.Ready, status)
		go s.watch(ctx, p, status)
	}
}

// watch reports changes of p's status until ctx ends or p stops. While p makes progress, it also sends a sign of life twice per
// interval of the manager's watchdog. It may never return if p is stuck.
func (s supervisor) watch(ctx context.Context, p process, status sdnotify.State) {
	interval, every := superviseInterval, s.manager.Watchdog()/2
	if every > 0 {
		interval = every / ((every + superviseInterval - 1) / superviseInterval) // divides every, so that no sign is late
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var stuck bool
	var silent time.Duration // since the last sign of life, in whole intervals
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Done():
			return
		case <-tick.C:
		}
		if now := readiness(p); now != status {
			status = now
			s.notify(status)
		}
		if silent += interval; every == 0 || silent < every {
			continue
		}
		err := p.Alive()
		if err != nil && !stuck {
			s.logger.Error("process stuck; the service manager restarts it", "error", err)
		}
		if stuck = err != nil; !stuck {
			silent = 0
			s.notify(sdnotify.Watchdog)
		}
	}
}

// stopping reports that the process stops. err is the reason, nil after a signal.
func (s supervisor) stopping(err error) {
	if s.manager == nil {
		return
	}
	text := "shutting down"
	if err != nil {
		text += ": " + err.Error()
	}
	s.notify(sdnotify.Stopping, sdnotify.Status(text))
}

func (s supervisor) notify(states ...sdnotify.State) {
	if err := s.manager.Notify(states...); err != nil {
		s.logger.Warn("service manager not notified", "error", err)
	}
}

// readiness returns a status line for "systemctl status" that describes the service of p to clients.
func readiness(p process) sdnotify.State {
	if err := p.Ready(); err != nil {
		return sdnotify.Status("serving at " + p.APIAddr() + ", cannot issue IDs yet: " + err.Error())
	}
	return sdnotify.Status("serving at " + p.APIAddr() + ", issuing IDs")
}
