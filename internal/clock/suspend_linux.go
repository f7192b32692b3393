package clock

import "golang.org/x/sys/unix"

// suspended returns the time, in ms, for which the machine was suspended since
// its boot. Go's monotonic clock stands still while the machine is suspended.
func suspended() int64 {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return (boot.Nano() - mono.Nano()) / 1e6
}
