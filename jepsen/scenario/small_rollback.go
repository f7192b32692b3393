//go:build linux

package scenario

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"
)

// smallRollback kills members and starts them again with a clock that is behind by less than the wait threshold. The
// threshold is 3 s here, the interval at which Leaf reports its clock.
func smallRollback() Scenario {
	return Scenario{
		Name: "leaf-216", Source: "Meituan-Dianping/Leaf#216", Bugs: []string{"reuse-window"},
		Other:         "Leaf: a restart with a clock that was behind by less than the reporting interval issued IDs twice",
		Loads:         []string{"ids", "strict"},
		WaitThreshold: 3 * time.Second,
		script: func(s *stage) error {
			for n, by := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 2900 * time.Millisecond} {
				if err := s.restartBack(by, s.Lab.Founders()[n]); err != nil {
					return err
				}
			}
			return s.restartBack(1500*time.Millisecond, s.Lab.Founders()...)
		},
	}
}

// restartBack kills members that issue IDs at full rate, and starts them with a clock that was set back.
func (s *stage) restartBack(by time.Duration, members ...*lab.Member) error {
	m := members[0]
	before, err := s.issue(m, 100)
	if err != nil {
		return err
	}
	known, err := s.status(s.ctx, m)
	if err != nil {
		return unreached("the observed clock of %s: %v", m.Name, err)
	}
	down(members)
	right, err := s.setBack(by, members...)
	if err != nil {
		return err
	}
	if err := lab.Start(s.ctx, members...); err != nil {
		return err
	}
	behind, err := s.isBack(m, by)
	if err != nil {
		return err
	}
	began := history.Now()
	err = s.until("IDs of "+m.Name, func(ctx context.Context) bool {
		op, _ := s.client.IDs(ctx, m, "", 1, 0)
		return op.Outcome == history.OK
	})
	if err != nil {
		return err
	}
	took := time.Duration(history.Now() - began)
	after, err := s.issue(m, 100)
	if err != nil {
		return err
	}
	last, err := millis(before.highest)
	if err != nil {
		return err
	}
	at, err := millis(after.lowest)
	if err != nil {
		return err
	}
	if at < known.GetObservedClockAtMs() {
		s.violation("%s started with a clock set back by %v, and issued %d, which is %d ms below the earlier observed clock",
			m.Name, by, after.lowest, known.GetObservedClockAtMs()-at)
	}
	err = s.until("IDs of "+m.Name+" above a floor", func(ctx context.Context) bool {
		op, issued := s.client.IDs(ctx, m, "", 10, before.highest)
		for _, i := range issued {
			if i.First <= before.highest {
				s.violation("%s started with a clock set back by %v, and issued %d for a request above the floor %d",
					m.Name, by, i.First, before.highest)
			}
		}
		return op.Outcome == history.OK
	})
	if err != nil {
		return err
	}
	if after.back == 0 {
		s.vain("clock of %s was correct again before %s issued IDs", m.Name, m.Name)
	}
	who := m.Name
	if len(members) > 1 {
		who = "all members"
	}
	s.see("clock of %s set back by %v, %v behind the observed clock: answer after %v, first ID %d ms after the last one before",
		who, by, time.Duration(behind)*time.Millisecond, took.Round(time.Millisecond), at-last)
	if err := right(); err != nil {
		return err
	}
	return s.well()
}

// millis returns the time in an ID of the default layout, in Unix milliseconds.
func millis(id uint64) (int64, error) {
	layout := snowflake.Default()
	parts, err := layout.Unpack(id)
	return layout.MillisAt(parts.Tick), err
}

// stretch is the range of the IDs that a member issued in some time.
type stretch struct {
	lowest, highest uint64
	back            int // answers while the clock was set back
}

// issue requests IDs of a member until this many answers of 1,000 IDs each have arrived. It returns the range of the IDs.
func (s *stage) issue(m *lab.Member, answers int) (stretch, error) {
	got := stretch{lowest: math.MaxUint64}
	var mu sync.Mutex
	var clients sync.WaitGroup
	const at = 4 // concurrent clients
	errs := make([]error, at)
	for n := range at {
		clients.Go(func() {
			errs[n] = s.until(fmt.Sprintf("%d answers of %s", answers, m.Name), func(ctx context.Context) bool {
				for range answers / at {
					op, issued := s.client.IDs(ctx, m, "", 1000, 0)
					if op.Outcome != history.OK {
						return false
					}
					mu.Lock()
					for _, i := range issued {
						got.lowest, got.highest = min(got.lowest, i.First), max(got.highest, i.Last())
					}
					if m.Offset() < 0 {
						got.back++
					}
					mu.Unlock()
				}
				return true
			})
		})
	}
	clients.Wait()
	for _, err := range errs {
		if err != nil {
			return got, err
		}
	}
	return got, nil
}
