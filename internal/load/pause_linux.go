package load

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is the greatest delay of Go's timers: an idle program waits for the network and
// for timers with the same call, in whole milliseconds.
const coarse = 1500 * time.Microsecond

// newPause returns what pauses about so long, or until ctx is done, within a tenth
// of a millisecond: what is late here would count as the server's latency. The
// kernel's timer is read like a connection, so that no processor waits for it.
func newPause() (pause func(ctx context.Context, d time.Duration), done func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return pauseByTimer, func() {} // there are too many files
	}
	timer := os.NewFile(uintptr(fd), "timer")
	var expired [8]byte
	return func(ctx context.Context, d time.Duration) {
		if d > coarse {
			pauseByTimer(ctx, d-coarse)
			return
		}
		after := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
		if err := unix.TimerfdSettime(fd, 0, &after, nil); err != nil {
			pauseByTimer(ctx, d)
			return
		}
		if _, err := timer.Read(expired[:]); err != nil {
			pauseByTimer(ctx, d)
		}
	}, func() { _ = timer.Close() }
}
