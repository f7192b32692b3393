//go:build linux

package scenario

import (
	"context"
	"sync"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// stoppedPrimary stops the leader, has another one issue numbers, and lets the first one go
// on with requests in its queue that came meanwhile; then it hands leadership back to it.
func stoppedPrimary() Scenario {
	return Scenario{
		Name: "vitess-3116", Source: "vitessio/vitess#3116", Bug: "keep-leader-term",
		Other: "Vitess: a former primary served a sequence from the range in its memory after a new primary had served",
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
			s.need("requests that were queued at a leader that was stopped", queued, 3*queue)
			s.see("a leader was stopped 3 times while another one issued numbers: of %d requests in its queue %d were answered with numbers, and %d not; it led %d times again, and issued numbers", queued, answered, queued-answered, again)
			return nil
		},
	}
}

// queue is the number of requests that wait for a leader that is stopped.
const queue = 20

// whileStopped stops a leader, takes numbers of its successor, and returns what became of
// requests that had been sent to the first one by the time that it went on.
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
	// What other clients send is about the same before and after.
	const least = 20 // bytes of a request
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
			s.violation("%s, which led in term %d and was stopped, gave %s after %s gave %s in term %d", m.Name, term, told(op), other.Name, told(fresh), later)
		}
		if op.Return < at {
			s.vain("a request to %s ended before it went on: %s", m.Name, told(op))
		}
	}
	return ops, nil
}

// leadAgain hands leadership back and takes numbers, which have to be later than all before.
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
		s.violation("%s was stopped and leads again in term %d: it gave %s after %s gave %s", m.Name, term, told(op), before.Member, told(before))
	}
	return term, err
}
