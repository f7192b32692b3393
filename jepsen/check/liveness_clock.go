package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// observedTolerance is the allowed difference between the observed clock and the harness's clock at the end of the run,
// in addition to the maximum clock offset. The leader raises the observed clock once per second.
const observedTolerance = int64(2 * time.Second)

// observed checks the observed clock of a member in the statuses of the last seconds of the run. The best status counts,
// because a new leader does not raise the observed clock at once.
func (l *liveness) observed(p ProcessSpan) {
	last, ok := l.run.lastStatus(p.Start)
	switch {
	case !ok || last.Return < l.healed:
		l.v.invalid("%s reported no status after the last fault", l.run.process(p.Start))
		return
	case last.SkewReturnNanos != 0:
		l.v.invalid("the clock of %s is still off by %v after the last fault",
			l.run.process(p.Start), time.Duration(last.SkewReturnNanos))
		return
	}
	best := observedOff(last)
	for _, s := range l.run.Statuses {
		if s.Start == p.Start && s.Error == "" && s.Return >= l.end-recovery && s.Return >= l.healed {
			if off := observedOff(s); off.Abs() < best.Abs() {
				best = off
			}
		}
	}
	l.v.Facts["observed_off_ms"] = max(l.v.Facts["observed_off_ms"], best.Abs().Milliseconds())
	limit := time.Duration(l.run.Header.MaxOffsetMillis)*time.Millisecond +
		time.Duration(observedTolerance+l.run.stalled(max(l.healed, l.end-recovery), l.end))
	if best.Abs() > limit {
		l.v.fail("the observed clock of %s was off by %v at best in the last %v before %s, expected at most %v either way",
			l.run.process(p.Start), best, time.Duration(recovery), l.run.clock(l.end), limit)
	}
}

// observedOff returns the time by which the observed clock in a status was ahead of the harness's clock.
func observedOff(s history.Status) time.Duration {
	return time.Duration(s.ObservedMillis)*time.Millisecond - time.Duration(s.WallNanos)
}
