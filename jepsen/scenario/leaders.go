//go:build linux

package scenario

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/network"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// leads reports whether a member reports itself as leader, and returns its term.
func (s *stage) leads(ctx context.Context, m *lab.Member) (term uint64, ok bool) {
	got, err := s.status(ctx, m)
	if err != nil || got.GetMemberId() == "" || got.GetLeaderId() != got.GetMemberId() {
		return 0, false
	}
	return got.GetTerm(), true
}

// leader waits until one of these members leads in a term greater than above.
func (s *stage) leader(above uint64, of ...*lab.Member) (leader *lab.Member, term uint64, err error) {
	err = s.until(fmt.Sprintf("a leader in a term above %d", above), func(ctx context.Context) bool {
		for _, m := range of {
			if t, ok := s.leads(ctx, m); ok && t > above {
				leader, term = m, t
				return true
			}
		}
		return false
	})
	return leader, term, err
}

// transfer repeatedly requests leadership for a member until the member leads in a term greater than above.
func (s *stage) transfer(to *lab.Member, above uint64) (term uint64, err error) {
	err = s.until("leadership of "+to.Name, func(ctx context.Context) bool {
		got, err := s.status(ctx, to)
		if err != nil {
			return false
		}
		if got.GetMemberId() == got.GetLeaderId() && got.GetTerm() > above {
			term = got.GetTerm()
			return true
		}
		conn, err := s.conn(to)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, statusWithin)
		defer cancel()
		_, _ = snowraftv1.NewClusterServiceClient(conn).TransferLeadership(ctx, // the status shows the result
			&snowraftv1.TransferLeadershipRequest{Member: got.GetMemberId()})
		return false
	})
	return term, err
}

// numbers requests numbers from a member until it answers.
func (s *stage) numbers(m *lab.Member, key string, count uint32) (op history.Op, err error) {
	err = s.until("numbers of "+m.Name, func(ctx context.Context) bool {
		op = s.client.Next(ctx, m, key, count, "")
		return op.Outcome == history.OK
	})
	return op, err
}

// isolate cuts a member off from the others. Clients still reach the member.
func (s *stage) isolate(m *lab.Member) (heal func() error, err error) {
	var rest []string
	for _, other := range s.others(m) {
		rest = append(rest, other.Name)
	}
	end := s.begin("isolate", nemesis.Network, 0, "", m)
	fault, err := s.Lab.Net.Cut(s.ctx, network.Isolate(m.Name, rest), network.All, network.Drop)
	if err != nil {
		end()
		return nil, err
	}
	return s.later(func(ctx context.Context) error { defer end(); return fault.Heal(ctx) }), nil
}

// pause pauses a member's process. goOn continues it.
func (s *stage) pause(m *lab.Member) (goOn func() error) {
	end := s.begin("pause", nemesis.Process, 0, "", m)
	m.Pause()
	return s.later(func(context.Context) error { m.Continue(); end(); return nil })
}
