package clock

import "golang.org/x/sys/unix"

// suspended is for how many milliseconds since its boot the machine was
// suspended: Go's monotonic clock stands still meanwhile.
func suspended() int64 {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return (boot.Nano() - mono.Nano()) / 1e6
}
