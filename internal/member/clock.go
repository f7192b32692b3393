package member

import (
	"errors"

	"github.com/snowraft/snowraft/internal/clock"
)

// notComparedError reports that the leader has not compared its clock with another voter's. It keeps a
// member that is elected right after its start from being the only judge of its clock. It is an
// [ErrNoLeader]: nothing was done, and a retry helps once the voters receive each other's gossip.
type notComparedError struct{}

func (notComparedError) Error() string {
	return "the leader has not compared its clock with another voter's since its start; " +
		"allow gossip (UDP) between the voters, or transfer leadership"
}

func (notComparedError) Is(target error) bool { return target == ErrNoLeader }

// comparedNow returns this leader's clock, in Unix milliseconds, for a command whose time has a lasting
// effect: no later correction undoes it. The clock was compared with another voter's, or there is none,
// and is not ahead of the majority's.
func (m *Member) comparedNow() (int64, error) {
	if !m.clock.Settled() { // before the reading, which is judged by what the comparison gave
		return 0, notComparedError{}
	}
	now := m.clock.Now()
	return now.Wall, m.ahead(now)
}

// ahead returns a [*clock.SkewError] if a reading of this leader's clock is too far ahead of the majority's.
func (m *Member) ahead(now clock.Reading) error {
	if skew, ok := errors.AsType[*clock.SkewError](m.clock.Check(now)); ok {
		return skew
	}
	return nil
}

// plausible returns an error if now, the clock of a caller that requests a grant, is too far from this leader's clock.
func (m *Member) plausible(now int64) error {
	l := m.clock.Limits()
	off := clock.Between(m.clock.Now().Wall, now)
	switch {
	case off > l.MaxOffset:
		return &clock.SkewError{Ahead: off, Limit: l.MaxOffset}
	case -off > max(l.WaitThreshold, l.MaxOffset) && !l.Swap:
		return &clock.BehindError{Behind: -off, Limit: l.WaitThreshold}
	}
	return nil
}
