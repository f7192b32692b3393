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

// flippingClock lets a clock go back by a few ticks and forth again, many times per second,
// while its member issues as much as it can.
func flippingClock() Scenario {
	return Scenario{
		Name: "twitter-snowflake-6", Source: "twitter-archive/snowflake#6", Bug: "reset-before-check",
		Other: "Twitter's Snowflake: the sequence began anew before a clock that moved backwards was refused; back in that tick, so were the sequences",
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
			s.need("times that the clock was seen to go back", int(backwards), 20)
			s.see("the clock of %s was set back and forth %d times by 1, 5 and 20 ms, and was seen to go back %d times from one answer to the next", m.Name, flips, backwards)
			return nil
		},
	}
}

// flip lets a clock go back and forth for some seconds under load.
func (s *stage) flip(m *lab.Member, by time.Duration) (flips int, backwards int64, err error) {
	stop := s.load("", "", 3000, m, m, m)
	defer s.begin("clock-strobe", nemesis.Clock, -by, by.String(), m)()
	defer m.Skew(0) //nolint:errcheck // it failed before then
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
