package member

import (
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/sequence"
)

// PeriodPassed reports whether a sequence will begin another period with the next grant at a time, in Unix ms, so that all of
// its numbers are left again.
func PeriodPassed(q fsm.Room, at int64) bool {
	reset := resets[q.Reset]
	if reset == sequence.ResetNone {
		return false
	}
	location, err := sequence.LoadLocation(q.TimeZone)
	return err == nil && int32(sequence.PeriodAt(reset, time.UnixMilli(at).In(location))) > q.Period
}
