package serve

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// superviseInterval is the longest interval between checks of a process.
const superviseInterval = time.Second

// manager is the service manager that started this process, such as systemd.
type manager interface {
	// Notify sends states, such as "READY=1", of sd_notify(3).
	Notify(states ...string) error
	// Watchdog returns the time after which the manager restarts a process that sends no sign of life; 0 means never.
	Watchdog() time.Duration
}

// inherit returns the manager that the environment names, or nil. If only the time of the watchdog is invalid, it returns a
// manager without a watchdog and an error.
func inherit() (manager, error) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil, nil
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	return systemd{watchdog}, err
}

// systemd is the manager that the environment names.
type systemd struct{ watchdog time.Duration }

func (s systemd) Watchdog() time.Duration { return s.watchdog }

func (systemd) Notify(states ...string) error {
	_, err := daemon.SdNotify(false, strings.Join(states, "\n"))
	return err
}

// maxStatus bounds a status in bytes. A manager ignores datagrams of more than 4096 bytes.
const maxStatus = 1024

// status returns the state with a status line for people.
func status(text string) string {
	text = strings.Join(strings.Fields(text), " ") // a line break would begin another variable
	return "STATUS=" + strings.ToValidUTF8(text[:min(len(text), maxStatus)], "")
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
		last := readiness(p)
		s.notify(daemon.SdNotifyReady, last)
		go s.watch(ctx, p, last)
	}
}

// watch reports changes of p's status, last at first, until ctx ends or p stops. While p makes progress, it also sends a sign of life twice per
// interval of the manager's watchdog. It may never return if p is stuck.
func (s supervisor) watch(ctx context.Context, p process, last string) {
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
		if now := readiness(p); now != last {
			last = now
			s.notify(last)
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
			s.notify(daemon.SdNotifyWatchdog)
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
	s.notify(daemon.SdNotifyStopping, status(text))
}

func (s supervisor) notify(states ...string) {
	if err := s.manager.Notify(states...); err != nil {
		s.logger.Warn("service manager not notified", "error", err)
	}
}

// readiness returns a status line for "systemctl status" that describes the service of p to clients.
func readiness(p process) string {
	if err := p.Ready(); err != nil {
		return status("serving at " + p.APIAddr() + ", cannot issue IDs yet: " + err.Error())
	}
	return status("serving at " + p.APIAddr() + ", issuing IDs")
}
