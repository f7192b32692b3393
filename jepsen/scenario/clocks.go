//go:build linux

package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
)

// clockTolerance is the maximum difference between a clock and its set value, in milliseconds.
const clockTolerance = 100

// setBack sets the clocks of members back. right corrects them.
func (s *stage) setBack(by time.Duration, members ...*lab.Member) (right func() error, err error) {
	end := s.begin("clock-rollback", nemesis.Clock, -by, (-by).String(), members...)
	right = s.later(func(context.Context) error {
		defer end()
		return skewAll(members, 0)
	})
	return right, skewAll(members, -by)
}

// skewAll sets the offset of members' clocks.
func skewAll(members []*lab.Member, offset time.Duration) error {
	var errs []error
	for _, m := range members {
		errs = append(errs, m.Skew(offset))
	}
	return errors.Join(errs...)
}

// isBack waits until the clock of a member is behind by this duration, and the member knows the observed clock. It returns
// the time by which the clock is behind the observed clock then, in milliseconds.
func (s *stage) isBack(m *lab.Member, by time.Duration) (behind int64, err error) {
	err = s.until("the status of "+m.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, m)
		if err != nil || got.GetObservedClockAtMs() == 0 {
			return false
		}
		off := history.Wall()/int64(time.Millisecond) - got.GetClockAtMs() - by.Milliseconds()
		if off < -clockTolerance || off > clockTolerance {
			return false
		}
		behind = got.GetObservedClockAtMs() - got.GetClockAtMs()
		return true
	})
	return behind, err
}
