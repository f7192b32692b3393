//go:build linux

package scenario

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// staleRange makes a leader with numbers in memory lose leadership, another leader issue numbers, and the first one lead
// again. The leader loses leadership by a transfer, by isolation, and by a pause.
func staleRange() Scenario {
	return Scenario{
		Name: "pd-3305", Source: "tikv/pd#3305", Bugs: []string{"keep-leader-term"},
		Other: "TiKV PD: a leader that was elected again continued with the range that it still had in memory",
		Loads: []string{"ids", "strict"},
		script: func(s *stage) error {
			const key = orders
			if err := s.strict(1000); err != nil {
				return err
			}
			first, term, err := s.leader(0, s.Lab.Founders()...)
			if err != nil {
				return err
			}
			for _, way := range []struct {
				name string
				lose func(s *stage, m *lab.Member, term uint64) (back func() error, err error)
			}{{"transferred", handOver}, {"cut off", cutOff}, {"stopped", stop}} {
				if term, err = s.thereAndBack(key, way.name, first, term, way.lose); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// thereAndBack requests numbers from a leader, from its successor after lose, and from the first leader again. It returns
// the last term.
func (s *stage) thereAndBack(key, way string, first *lab.Member, term uint64, lose func(*stage, *lab.Member, uint64) (func() error, error)) (uint64, error) {
	before, err := s.numbers(first, key, 5)
	if err != nil {
		return 0, err
	}
	if err := s.inMemory(first, key, before); err != nil {
		return 0, err
	}
	back, err := lose(s, first, term)
	if err != nil {
		return 0, err
	}
	second, later, err := s.leader(term, s.others(first)...)
	if err != nil {
		return 0, err
	}
	between, err := s.numbers(second, key, 5)
	if err != nil {
		return 0, err
	}
	if between.First <= highest(before) {
		s.violation("%s issued %s in term %d after %s issued %s in term %d",
			second.Name, describe(between), later, first.Name, describe(before), term)
	}
	if err := back(); err != nil {
		return 0, err
	}
	if err := s.well(); err != nil {
		return 0, err
	}
	again, err := s.transfer(first, later)
	if err != nil {
		return 0, err
	}
	after, err := s.numbers(first, key, 5)
	if err != nil {
		return 0, err
	}
	if after.First <= highest(between) {
		s.violation("%s, %s in term %d, leads again in term %d and issued %s after %s issued %s",
			first.Name, way, term, again, describe(after), second.Name, describe(between))
	}
	s.see("%s: %s issued %d, then %s %d, then %s %d",
		way, first.Name, highest(before), second.Name, highest(between), first.Name, after.First)
	return again, nil
}

// inMemory waits until the leader has a range of granted numbers left after an answer. The replica of a
// follower knows where the next range begins, not what the leader has issued.
func (s *stage) inMemory(leader *lab.Member, key string, answer history.Op) error {
	conn, err := s.conn(s.others(leader)[0])
	if err != nil {
		return err
	}
	return s.until(fmt.Sprintf("a range of %s in the memory of %s", key, leader.Name), func(ctx context.Context) bool {
		resp, err := snowraftv1.NewSequenceServiceClient(conn).GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: key, Local: true})
		return err == nil && resp.GetSequence().GetNext() > highest(answer)+1
	})
}

func handOver(s *stage, m *lab.Member, term uint64) (back func() error, err error) {
	_, err = s.transfer(s.others(m)[0], term)
	return func() error { return nil }, err
}

func cutOff(s *stage, m *lab.Member, _ uint64) (back func() error, err error) {
	return s.isolate(m)
}

func stop(s *stage, m *lab.Member, _ uint64) (back func() error, err error) {
	return s.pause(m), nil
}
