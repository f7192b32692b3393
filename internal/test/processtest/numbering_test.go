//go:build process

package processtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/lincheck"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// mostNumbers is the largest count per call. Half of all calls request one number.
const mostNumbers = 200

func someNumbers() uint32 {
	if rand.N(2) == 0 {
		return 1
	}
	return 1 + rand.N[uint32](mostNumbers)
}

// numbering is load on a sequence, with the history of its clients. In the history, By names the
// member that answered.
type numbering struct {
	*load
	name    string
	members []*member
	history lincheck.History

	mu     sync.Mutex
	failed int    // failed calls
	lost   uint64 // numbers that failed calls may have used
}

// newNumbering creates a sequence.
func newNumbering(t *testing.T, members []*member, s *snowraftv1.Sequence) *numbering {
	t.Helper()
	if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); err != nil {
		t.Fatalf("creating %s: %v", s.GetName(), err)
	}
	untilApplied(t, members)
	return &numbering{load: newLoad(t, nil), name: s.GetName(), members: members}
}

// next requests numbers from a member.
func (n *numbering) next(m *member, count uint32) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), callTimeout)
	defer cancel()
	began := time.Now()
	resp, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: n.name, Count: count})
	ended := time.Now()
	if err != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.failed++
		n.lost += uint64(count)
		if code := status.Code(err); code != codes.Unavailable && code != codes.DeadlineExceeded && rpc.FromError(err).Reason != rpc.CommitUnknown {
			m.t.Errorf("%s refused for a permanent reason: %v", m.name, err)
		}
		return err
	}
	last := resp.GetFirst() + int64(resp.GetCount()-1)*resp.GetIncrement()
	if resp.GetCount() != count || resp.GetIncrement() != 1 {
		m.t.Errorf("%s answered a request for %d numbers with %v", m.name, count, resp)
	}
	n.history.Add(lincheck.Call{By: m.name, Began: began, Ended: ended, First: resp.GetFirst(), Last: last})
	return nil
}

// last requests the last number of a strict sequence that starts at 1 from a member. It returns
// 0 if no number was issued yet. A member must not return 0 after the first number.
func (n *numbering) last(m *member) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), callTimeout)
	defer cancel()
	began := time.Now()
	resp, err := m.numbers.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: n.name})
	ended := time.Now()
	if err == nil {
		n.history.Add(lincheck.Call{By: m.name, Began: began, Ended: ended, Last: resp.GetLast(), Read: true})
	}
	return resp.GetLast(), err
}

// untilNext waits until members issue numbers.
func (n *numbering) untilNext(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		until(t, m.name+" issues numbers", func() bool { return n.next(m, 1) == nil })
	}
}

// clients adds clients that request numbers, and readers that request the last number. They are spread
// evenly over the members. Each one stays with its member until a call fails, and then changes to the next one.
func (n *numbering) clients(count, readers int) {
	for i := range count + readers {
		at := i
		n.client(pace, func() {
			m := n.members[at%len(n.members)]
			var err error
			if i < count {
				err = n.next(m, someNumbers())
			} else {
				_, err = n.last(m)
			}
			if err != nil {
				at++
			}
		})
	}
}

// untilMore waits until the clients got more answers.
func (n *numbering) untilMore(t *testing.T, more int) {
	t.Helper()
	from := len(n.history.Calls())
	until(t, fmt.Sprintf("clients got %d more answers", more), func() bool { return len(n.history.Calls()) >= from+more })
}

// killed kills a member and starts it again, and waits until all issue numbers.
func (n *numbering) killed(t *testing.T, victim *member) {
	t.Helper()
	rest := others(n.members, victim)
	victim.kill()
	began := time.Now()
	leader(t, rest)
	n.untilNext(t, rest...)
	took := time.Since(began)
	victim.start()
	n.untilNext(t, victim)
	t.Logf("killed %s: the others issued numbers after %v, and the restarted member %v later",
		victim.name, took.Round(time.Millisecond), (time.Since(began) - took).Round(time.Millisecond))
}
