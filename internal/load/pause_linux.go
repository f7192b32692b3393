package load

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is the greatest delay of Go's timers. An idle program waits for the network and
// for timers with the same system call, in whole milliseconds.
const coarse = 1500 * time.Microsecond

// newPause returns a function that pauses for d, with an error below a tenth of a millisecond,
// because a delay here would count as latency of the server. It returns earlier if ctx is done,
// except from a pause of at most coarse. The function reads the kernel's timer like a
// connection, so that it does not occupy a processor.
func newPause() (pause func(ctx context.Context, d time.Duration), done func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return pauseByTimer, func() {} // too many open files
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
