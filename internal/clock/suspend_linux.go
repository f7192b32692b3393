package clock

import "golang.org/x/sys/unix"

// suspended returns the time, in ms, for which the machine was suspended since
// its boot. Go's monotonic clock stands still while the machine is suspended.
func suspended() int64 {
	for {
		var before, boot, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0
		}
		if after.Nano()-before.Nano() < 1e6 { // otherwise the process waited for a processor between the readings
			return (boot.Nano() - after.Nano()) / 1e6
		}
	}
}
