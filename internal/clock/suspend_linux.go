package clock

import (
	"math"

	"golang.org/x/sys/unix"
)

const (
	exactReading = 1e6 // ns; a longer wait for a processor between readings could pass for a suspension
	mostReadings = 10
)

// suspended returns the time, in ms, for which the machine was suspended since its boot. Go's monotonic clock stands still while
// the machine is suspended. Of several readings of both clocks, it takes the closest.
func suspended() (slept int64) {
	best := int64(math.MaxInt64)
	for range mostReadings {
		var before, boot, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0
		}
		if took := after.Nano() - before.Nano(); took < best {
			best, slept = took, (boot.Nano()-after.Nano())/1e6
		}
		if best < exactReading {
			break
		}
	}
	return slept
}
