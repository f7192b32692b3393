//go:build linux

package scenario

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// deposedLeader cuts the leader off from the other members, but not from its clients. Clients request numbers, blocks and
// IDs from it until its window has ended.
func deposedLeader() Scenario {
	return Scenario{
		Name: "pd-9051", Source: "tikv/pd#9051, tikv/pd#9157", Bugs: []string{"no-confirm"},
		Other:     "TiKV PD: a deposed leader continued to issue timestamps and to save them",
		Loads:     []string{"ids", "strict"},
		MaxWindow: 6 * time.Second,
		script: func(s *stage) error {
			if err := s.strict(1000); err != nil {
				return err
			}
			err := s.Create(s.ctx, &snowraftv1.Sequence{
				Name: "tickets", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, MinBlock: 10, MaxBlock: 10,
			})
			if err != nil {
				return err
			}
			deposed, term, err := s.leader(0, s.Lab.Founders()...)
			if err != nil {
				return err
			}
			before, err := s.numbers(deposed, orders, 5)
			if err != nil {
				return err
			}
			if err := s.inMemory(deposed, orders, before); err != nil {
				return err
			}
			return s.depose(deposed, term)
		},
	}
}

// alone counts the answers of a member that is cut off from the others.
type alone struct {
	s *stage
	m *lab.Member

	numbers atomic.Int64 // refused requests for numbers
	leading atomic.Int64 // refused requests for numbers while m reported itself as leader
	blocks  atomic.Int64 // refused requests for blocks
	ids     atomic.Int64 // answered requests for IDs
	ended   atomic.Int64 // requests for IDs that were refused with WINDOW_ENDED
}

// depose isolates the leader m of a term, and checks its answers until its window has ended.
func (s *stage) depose(m *lab.Member, term uint64) error {
	heal, err := s.isolate(m)
	if err != nil {
		return err
	}
	a := &alone{s: s, m: m}
	stop := a.ask()
	other, later, err := s.leader(term, s.others(m)...)
	if err != nil {
		return err
	}
	fresh, err := s.numbers(other, orders, 5)
	if err != nil {
		return err
	}
	err = s.until("the loss of leadership of "+m.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, m)
		return err == nil && got.GetLeaderId() != got.GetMemberId()
	})
	if err != nil {
		return err
	}
	windows, err := s.windows(m)
	if err != nil {
		return err
	}
	err = s.until("the end of the window of "+m.Name, func(context.Context) bool {
		return a.ended.Load() >= 5 && a.numbers.Load() >= 20 && a.blocks.Load() >= 5
	})
	if err != nil {
		return err
	}
	now, err := s.windows(m)
	if err != nil {
		return err
	}
	for token, until := range now {
		if was, ok := windows[token]; !ok || until > was {
			s.violation("%s was cut off and has a window up to %d with token %d; at its loss of leadership, it had %v",
				m.Name, until, token, windows)
		}
	}
	if err := stop(); err != nil {
		return err
	}
	s.need("requests for numbers that a leader refused while it was cut off", int(a.leading.Load()), 1)
	s.need("requests for IDs that a member answered while it was cut off", int(a.ids.Load()), 1)
	s.see("%s led in term %d and was cut off: it refused %d requests for numbers (%d of them as the presumed leader) "+
		"and %d for blocks; it answered %d requests for IDs within its window, and refused %d after it (WINDOW_ENDED); "+
		"%s led in term %d and issued %d",
		m.Name, term, a.numbers.Load(), a.leading.Load(), a.blocks.Load(), a.ids.Load(), a.ended.Load(),
		other.Name, later, highest(fresh))
	if err := heal(); err != nil {
		return err
	}
	if err := s.well(); err != nil {
		return err
	}
	after, err := s.numbers(m, orders, 5)
	if err == nil && after.First <= highest(fresh) {
		s.violation("%s issued %s after %s issued %s", m.Name, describe(after), other.Name, describe(fresh))
	}
	return err
}

// ask requests numbers, blocks and IDs until stop is called. Requests without a leader take long, so several clients make
// them.
func (a *alone) ask() (stop func() error) {
	ctx, cancel := context.WithCancel(a.s.ctx)
	var clients sync.WaitGroup
	begin := func(clientCount int, ask func(ctx context.Context)) {
		for range clientCount {
			clients.Go(func() {
				for ctx.Err() == nil {
					ask(ctx)
					history.Sleep(ctx, pollEvery)
				}
			})
		}
	}
	begin(10, a.askNumbers)
	begin(4, a.askBlock)
	begin(1, a.askIDs)
	return a.s.later(func(context.Context) error {
		cancel()
		clients.Wait()
		return nil
	})
}

func (a *alone) askNumbers(ctx context.Context) {
	_, leading := a.s.leads(ctx, a.m)
	op := a.s.client.Next(ctx, a.m, orders, 1, "")
	switch {
	case ctx.Err() != nil: // the cut may be healed
	case op.Outcome == history.OK:
		a.s.violation("%s is cut off from the others and issued the number %s", a.m.Name, describe(op))
	default:
		a.numbers.Add(1)
		if leading {
			a.leading.Add(1)
		}
	}
}

func (a *alone) askBlock(ctx context.Context) {
	op := a.s.client.Block(ctx, a.m, "tickets", 10)
	switch {
	case ctx.Err() != nil:
	case op.Outcome == history.OK:
		a.s.violation("%s is cut off from the others and granted a block: %s", a.m.Name, describe(op))
	default:
		a.blocks.Add(1)
	}
}

func (a *alone) askIDs(ctx context.Context) {
	op, _ := a.s.client.IDs(ctx, a.m, "", 10, 0)
	switch {
	case op.Outcome == history.OK:
		a.ids.Add(1)
	case op.Reason == "WINDOW_ENDED":
		a.ended.Add(1)
	}
}

// windows returns the ends of the windows that a member reports, in ticks by token.
func (s *stage) windows(m *lab.Member) (map[uint64]int64, error) {
	ends := make(map[uint64]int64)
	err := s.until("the status of "+m.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, m)
		for _, lane := range got.GetLanes() {
			ends[lane.GetToken()] = lane.GetUntilTick()
		}
		return err == nil
	})
	return ends, err
}
