package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// observedTolerance is how far the observed clock may be from the harness's at the end, beside
// the maximal offset: it is raised once per second.
const observedTolerance = int64(2 * time.Second)

// observed judges the observed clock of a member, by what it said in the last seconds of the run: the
// best of it, because there may be a new leader at any time, who does not raise the clock at once.
func (l *liveness) observed(p ProcessSpan) {
	last, ok := l.run.lastStatus(p.Start)
	switch {
	case !ok || last.Return < l.healed:
		l.v.invalid("%s did not tell its status after the last fault", l.run.process(p.Start))
		return
	case last.SkewReturnNanos != 0:
		l.v.invalid("the clock of %s is still set off by %v, after the last fault", l.run.process(p.Start), time.Duration(last.SkewReturnNanos))
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
	if limit := time.Duration(l.run.Header.MaxOffsetMillis)*time.Millisecond + time.Duration(observedTolerance); best.Abs() > limit {
		l.v.fail("the observed clock of %s was %v ahead of the harness's clock or more in the last %v before %s, expected at most %v either way",
			l.run.process(p.Start), best, time.Duration(recovery), l.run.clock(l.end), limit)
	}
}

// observedOff is by how much the observed clock of a status was ahead of the harness's clock.
func observedOff(s history.Status) time.Duration {
	return time.Duration(s.ObservedMillis)*time.Millisecond - time.Duration(s.WallNanos)
}
