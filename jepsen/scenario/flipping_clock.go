//go:build linux

package scenario

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
)

// flippingClock sets a clock back by a few ticks and forth again many times per second, while its member issues IDs at full
// rate.
func flippingClock() Scenario {
	return Scenario{
		Name: "twitter-snowflake-6", Source: "twitter-archive/snowflake#6", Bugs: []string{"reset-before-check"},
		Other: "Twitter's Snowflake: the sequence was reset before the backwards clock was refused, and then repeated in that tick",
		Loads: []string{"ids", "strict"},
		script: func(s *stage) error {
			m := s.Lab.Founders()[0]
			flips, backwards := 0, int64(0)
			for _, by := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
				f, b, err := s.flip(m, by)
				if err != nil {
					return err
				}
				flips, backwards = flips+f, backwards+b
			}
			s.need("answers that showed a clock moving backwards", int(backwards), 20)
			s.see("clock of %s flipped %d times by 1, 5 and 20 ms; %d answers showed it moving backwards", m.Name, flips, backwards)
			return nil
		},
	}
}

// flip flips the clock of a member for 2.5 s under load. It counts the flips, and the backward steps between two statuses.
func (s *stage) flip(m *lab.Member, by time.Duration) (flips int, backwards int64, err error) {
	stop := s.load("", "", 3000, m, m, m)
	defer s.begin("clock-strobe", nemesis.Clock, -by, by.String(), m)()
	defer m.Skew(0) //nolint:errcheck // an earlier call returned the error
	ctx, cancel := context.WithTimeout(s.ctx, 2500*time.Millisecond)
	defer cancel()
	var seen atomic.Int64
	var watcher sync.WaitGroup
	watcher.Go(func() {
		last := int64(0)
		for ctx.Err() == nil {
			got, err := s.status(ctx, m)
			if err != nil {
				continue
			}
			if got.GetClockAtMs() < last {
				seen.Add(1)
			}
			last = got.GetClockAtMs()
		}
	})
	for ; ctx.Err() == nil && err == nil; flips++ {
		err = m.Skew(-by * time.Duration((flips+1)%2))
		history.Sleep(ctx, time.Duration(1+flips%3)*time.Millisecond)
	}
	watcher.Wait()
	if err != nil {
		return 0, 0, err
	}
	return flips, seen.Load(), stop()
}
