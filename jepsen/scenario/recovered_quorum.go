//go:build linux

package scenario

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
)

// recoveredQuorum cuts the power of a majority with the leader at one moment. Then it cuts the power of one member after
// another, until the quorum consists only of members that lost power before.
func recoveredQuorum() Scenario {
	return Scenario{
		Name: "nats-7567", Source: "nats-io/nats-server#7567", Bugs: []string{"no-sync"},
		Other: "NATS JetStream: acknowledged writes were lost when members lost power, because they were not synced",
		Loads: []string{"ids", "strict"},
		script: func(s *stage) error {
			if err := s.strict(100); err != nil {
				return err
			}
			b := &books{s: s, next: make(map[string]history.Op)}
			if err := b.majority(); err != nil {
				return err
			}
			return b.rolling()
		},
	}
}

// books records the answers to requests with an ID. A repeated request must get the same answer from every majority.
type books struct {
	s       *stage
	next    map[string]history.Op // answers by request ID
	highest int64                 // highest issued number
}

// add makes new requests with IDs, and records the answers.
func (b *books) add(count int) error {
	for range count {
		id := fmt.Sprintf("book-%d", len(b.next))
		op, err := b.request(b.s.Lab.Running()[0], id)
		if err != nil {
			return err
		}
		if op.First <= b.highest {
			b.s.violation("%s issued %s, although %d had been issued", op.Member, describe(op), b.highest)
		}
		b.next[id], b.highest = op, max(b.highest, highest(op))
	}
	return nil
}

// request repeats a request until it is answered.
func (b *books) request(m *lab.Member, id string) (op history.Op, err error) {
	err = b.s.until("numbers of "+m.Name, func(ctx context.Context) bool {
		op = b.s.client.Next(ctx, m, orders, 2, id)
		return op.Outcome == history.OK
	})
	return op, err
}

// audit repeats all requests at a member, and compares the answers.
func (b *books) audit(after string, m *lab.Member) error {
	for id, was := range b.next {
		op, err := b.request(m, id)
		if err != nil {
			return err
		}
		if op.First != was.First || op.Count != was.Count {
			b.s.violation("%s; then %s answered the request %s with %s, earlier answer %s", after, m.Name, id, describe(op), describe(was))
		}
	}
	return nil
}

// majority cuts the power of a majority with the leader.
func (b *books) majority() error {
	s := b.s
	for round := range 2 {
		leader, _, err := s.leader(0, s.Lab.Founders()...)
		if err != nil {
			return err
		}
		if err := b.add(20); err != nil {
			return err
		}
		numbers := s.take(s.Lab.Founders()...)
		if err := s.more(numbers, 50); err != nil {
			return err
		}
		hit := []*lab.Member{leader, s.others(leader)[round%2]}
		start, err := s.powerLoss(hit...)
		if err != nil {
			return err
		}
		if err := numbers.stop(); err != nil {
			return err
		}
		b.highest = max(b.highest, numbers.highest.Load())
		if err := start(); err != nil {
			return err
		}
		what := fmt.Sprintf("leader %s and %s lost power", hit[0].Name, hit[1].Name)
		if err := b.add(1); err != nil {
			return err
		}
		if err := b.audit(what, hit[0]); err != nil {
			return err
		}
		if err := s.well(); err != nil {
			return err
		}
		s.see("%s after %d answers", what, numbers.answers.Load())
	}
	return nil
}

// rolling cuts the power of one member after another. Then two members that lost power decide alone.
func (b *books) rolling() error {
	s := b.s
	for _, m := range s.Lab.Founders() {
		numbers := s.take(s.Lab.Founders()...)
		if err := s.more(numbers, 30); err != nil {
			return err
		}
		start, err := s.powerLoss(m)
		if err != nil {
			return err
		}
		if err := s.more(numbers, 30); err != nil { // answers of the others
			return err
		}
		if err := numbers.stop(); err != nil {
			return err
		}
		b.highest = max(b.highest, numbers.highest.Load())
		if err := start(); err != nil {
			return err
		}
		if err := s.well(); err != nil {
			return err
		}
		if err := b.add(5); err != nil {
			return err
		}
	}
	last := s.Lab.Founders()[2]
	start := s.kill(last)
	for _, m := range s.others(last) {
		if err := b.audit("each member lost power in turn", m); err != nil {
			return err
		}
	}
	if err := b.add(5); err != nil {
		return err
	}
	s.see("each member lost power in turn, then two of them decided alone; %d repeated requests got the same answers", len(b.next))
	return start()
}
