//go:build linux

package scenario

import (
	"context"
	"sync"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// stoppedPrimary pauses the leader while a new leader issues numbers, and clients fill the queue of the paused one. Then it
// continues the former leader, and transfers leadership back to it.
func stoppedPrimary() Scenario {
	return Scenario{
		Name: "vitess-3116", Source: "vitessio/vitess#3116", Bugs: []string{"keep-leader-term"},
		Other: "Vitess: a former primary served a sequence from the range in its memory after a new primary had issued numbers",
		Loads: []string{"ids", "strict"},
		script: func(s *stage) error {
			const key = orders
			if err := s.strict(10000); err != nil {
				return err
			}
			term, queued, answered, again := uint64(0), 0, 0, 0
			for range 3 {
				stopped, now, err := s.leader(term-min(term, 1), s.Lab.Founders()...)
				if err != nil {
					return err
				}
				ops, err := s.whileStopped(stopped, now, key)
				if err != nil {
					return err
				}
				for _, op := range ops {
					queued++
					if op.Outcome == history.OK {
						answered++
					}
				}
				if err := s.well(); err != nil {
					return err
				}
				if term, err = s.leadAgain(stopped, now, key); err != nil {
					return err
				}
				again++
			}
			s.need("requests in the queue of a paused leader", queued, 3*queue)
			s.see("a leader was paused 3 times while another one issued numbers: of %d requests in its queue, "+
				"%d were answered with numbers, %d were not; it led again %d times and issued numbers",
				queued, answered, queued-answered, again)
			return nil
		},
	}
}

// queue is the number of requests that wait for a paused leader.
const queue = 20

// whileStopped pauses a leader, and requests numbers from its successor. It returns the results of requests that the paused
// leader received before it continued.
func (s *stage) whileStopped(m *lab.Member, term uint64, key string) ([]history.Op, error) {
	before, err := s.numbers(m, key, 5)
	if err != nil {
		return nil, err
	}
	if err := s.inMemory(m, key, before); err != nil {
		return nil, err
	}
	idle, err := m.Waiting(lab.PortAPI)
	if err != nil {
		return nil, err
	}
	goOn := s.pause(m)
	other, later, err := s.leader(term, s.others(m)...)
	if err != nil {
		return nil, err
	}
	fresh, err := s.numbers(other, key, 5)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var ops []history.Op
	var clients sync.WaitGroup
	for range queue {
		clients.Go(func() {
			op := s.client.Next(s.ctx, m, key, 1, "")
			mu.Lock()
			defer mu.Unlock()
			ops = append(ops, op)
		})
	}
	// The other clients have about the same number of waiting bytes before and after the pause.
	const least = 20 // minimum bytes of a request
	err = s.until("requests in the queue of "+m.Name, func(context.Context) bool {
		waiting, err := m.Waiting(lab.PortAPI)
		return err == nil && waiting >= idle+queue*least
	})
	if err != nil {
		return nil, err
	}
	at := history.Now()
	if err := goOn(); err != nil {
		return nil, err
	}
	clients.Wait()
	for _, op := range ops {
		if op.Outcome == history.OK && op.First <= highest(fresh) {
			s.violation("%s, the paused leader of term %d, issued %s after %s issued %s in term %d",
				m.Name, term, describe(op), other.Name, describe(fresh), later)
		}
		if op.Return < at {
			s.vain("a request to %s returned before the process continued: %s", m.Name, describe(op))
		}
	}
	return ops, nil
}

// leadAgain transfers leadership back, and checks that the next numbers are greater than all before.
func (s *stage) leadAgain(m *lab.Member, above uint64, key string) (term uint64, err error) {
	before, err := s.numbers(s.others(m)[0], key, 1)
	if err != nil {
		return 0, err
	}
	if term, err = s.transfer(m, above); err != nil {
		return 0, err
	}
	op, err := s.numbers(m, key, 5)
	if err == nil && op.First <= before.First {
		s.violation("%s was paused and leads again in term %d: it issued %s after %s issued %s",
			m.Name, term, describe(op), before.Member, describe(before))
	}
	return term, err
}
