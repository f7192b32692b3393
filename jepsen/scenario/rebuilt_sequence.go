//go:build linux

package scenario

import (
	"context"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// rebuiltSequence stops all members under load, by SIGKILL and by losses of power, and checks the next numbers of
// sequences.
func rebuiltSequence() Scenario {
	return Scenario{
		Name: "seaweedfs-1939", Source: "seaweedfs/seaweedfs#1939", Bugs: []string{"no-sync"},
		Other: "SeaweedFS: after a restart of all masters, the sequence in memory was rebuilt too low",
		Loads: []string{"ids", "strict"},
		script: func(s *stage) error {
			if err := s.strict(100); err != nil {
				return err
			}
			err := s.Create(s.ctx, &snowraftv1.Sequence{
				Name: "tickets", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, MinBlock: 10, MaxBlock: 10,
			})
			if err != nil {
				return err
			}
			kill := func() (func() error, error) { return s.kill(s.Lab.Founders()...), nil }
			power := func() (func() error, error) { return s.powerLoss(s.Lab.Founders()...) }
			for _, end := range []struct {
				how string
				all func() (start func() error, err error)
			}{{"killed", kill}, {"without power", power}, {"without power again", power}} {
				if err := s.endAll(end.how, end.all); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// endAll stops all members while clients request numbers, starts them, and checks the next numbers.
func (s *stage) endAll(how string, end func() (func() error, error)) error {
	numbers := s.take(s.Lab.Founders()...)
	if err := s.more(numbers, 100); err != nil {
		return err
	}
	block, err := s.block("tickets")
	if err != nil {
		return err
	}
	if err := s.more(numbers, 20); err != nil {
		return err
	}
	start, err := end()
	if err != nil {
		return err
	}
	for _, m := range s.Lab.Founders() {
		if m.Running() {
			return unreached("%s still ran after the end of all members", m.Name)
		}
	}
	if err := numbers.stop(); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	given := numbers.highest.Load()
	for _, m := range s.Lab.Founders() {
		after, err := s.numbers(m, orders, 1)
		if err != nil {
			return err
		}
		if after.First <= given {
			s.violation("all members were %s, then %s continued with the number %d, although %d had been issued",
				how, m.Name, after.First, given)
		}
		given = max(given, highest(after))
	}
	again, err := s.block("tickets")
	if err != nil {
		return err
	}
	if again.First <= highest(block) {
		s.violation("all members were %s, then a block began with %d after a block up to %d", how, again.First, highest(block))
	}
	s.see("%s after %d answers: last number %d, next number %d", how, numbers.answers.Load(), numbers.highest.Load(), given-2)
	return s.well()
}

// block requests a block of a relaxed sequence from the founders in turn.
func (s *stage) block(key string) (op history.Op, err error) {
	err = s.until("a block of "+key, func(ctx context.Context) bool {
		op = s.client.Block(ctx, s.any(), key, 10)
		return op.Outcome == history.OK
	})
	return op, err
}

// any returns the next founder in turn.
func (s *stage) any() *lab.Member {
	s.turn++
	return s.Lab.Founders()[s.turn%len(s.Lab.Founders())]
}
