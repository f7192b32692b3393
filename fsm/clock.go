package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// observeClock raises the observed clock to now, or sets it to now when forced.
func (s *State) observeClock(e entry) Result {
	if e.now <= 0 {
		return Result{Err: invalid("observed clock %d ms: expected a time after 1970; correct this member's clock", e.now)}
	}
	if e.now > s.observed || e.cmd.GetObserveClock().GetForce() {
		s.setObserved(e.now)
	}
	return Result{}
}

// setObserved sets the observed clock, and keeps the greatest one.
func (s *State) setObserved(now int64) {
	highest := s.highestClock()
	s.observed, s.lowered = now, 0
	if now < highest && s.version >= DocumentVersion {
		s.lowered = highest
	}
}

// highestClock returns the greatest observed clock.
func (s *State) highestClock() int64 { return max(s.observed, s.lowered) }

// checkClock refuses to grant a worker of l to a proposer whose clock is before the
// layout's epoch, or behind the observed clock by more than the wait threshold. The
// policy swap permits the latter; it keeps uniqueness, but not the order in time.
func (s *State) checkClock(now int64, l *layout) *Refused {
	config := s.Config()
	threshold, swap := config.GetWaitThresholdMs(), config.GetRollback() == commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP
	if behind := minus(s.observed, now); behind > threshold && !swap {
		return refuseClock(behind, s.observed-threshold, "behind the observed clock, limit %d ms; correct the clock or, if it is correct, "+
			"set the observed clock back with \"snowraft clock reset\"", threshold)
	}
	if epoch := l.layout.MillisAt(0); now < epoch {
		return refuseClock(minus(epoch, now), epoch, "before the epoch of layout %q; correct the clock", l.name)
	}
	return nil
}

func refuseClock(behind, retryAt int64, format string, arg any) *Refused {
	refused := refuse(commandv1.Refusal_REFUSAL_CLOCK_BEHIND,
		"clock is %d ms "+format, behind, arg)
	refused.BehindMillis = behind
	return refused.retryAt(retryAt)
}

// plus returns a + b for b of at least 0, saturating.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// minus returns by how much a exceeds b, saturating; 0 if it does not.
func minus(a, b int64) int64 {
	if a <= b {
		return 0
	}
	if difference := uint64(a) - uint64(b); difference <= math.MaxInt64 {
		return int64(difference)
	}
	return math.MaxInt64
}
