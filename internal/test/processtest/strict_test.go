//go:build process

package processtest

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/lincheck"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestStrictSequence kills, pauses and replaces the leader while clients
// request numbers of a strict sequence and its last number.
func TestStrictSequence(t *testing.T) {
	t.Parallel()
	const readers = 6
	clients := depth.Of(32, 64)
	members := startCluster(t, 3)
	n := newNumbering(t, members, &snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
	quiet(t, n)
	n.clients(clients, readers)
	n.paused(t, 100*time.Millisecond)
	n.transferred(t)
	n.paused(t, 700*time.Millisecond)
	n.killed(t, leader(t, members))
	n.paused(t, 2*time.Second)
	n.transferred(t)
	n.paused(t, 2*time.Second)
	n.paused(t, 5*time.Second)
	n.killed(t, leader(t, members))
	until(t, "enough calls were answered", func() bool { return len(n.history.Calls()) >= 5000 })
	n.stop()

	calls := n.history.Calls()
	t.Logf("%d calls were answered, %d failed", len(calls), n.failed)
	if err := lincheck.CheckOrder(calls); err != nil {
		t.Error(err)
	}
	if err := lincheck.CheckLinear(calls, 3000, patience); err != nil {
		t.Error(err)
	}
}

// quiet checks that without faults there are no gaps, and that every member knows the
// last number that another member issued.
func quiet(t *testing.T, n *numbering) {
	t.Helper()
	if last, err := n.last(n.members[1]); err != nil || last != 0 {
		t.Errorf("the last number before the first one is %d, %v; want 0", last, err)
	}
	until(t, "one leader issues for all", func() bool {
		term := leader(t, n.members).status().GetTerm()
		wrong := n.gaps()
		if n.members[0].status().GetTerm() != term {
			return false // a fault: on a busy machine, members miss heartbeats
		}
		for _, w := range wrong {
			t.Error(w)
		}
		return true
	})
}

// gaps lets each member in turn issue numbers, requests the last number from another member each time, and returns the faults.
func (n *numbering) gaps() (wrong []string) {
	first, err := n.last(n.members[0])
	if err != nil {
		return []string{err.Error()}
	}
	for i := range 9 {
		m, o := n.members[i%3], n.members[(i+1+i/3)%3]
		if err := n.next(m, 10); err != nil {
			return append(wrong, err.Error())
		}
		if last, err := n.last(o); err != nil || last != first+int64(10*(i+1)) {
			wrong = append(wrong, fmt.Sprintf("the last number at %s is %d, %v after 10 numbers from %s, want %d",
				o.name, last, err, m.name, first+int64(10*(i+1))))
		}
	}
	return wrong
}

// paused pauses the leader's process for a time; for a pause of more than one second, at least until all
// other members issue numbers. After the pause, the leader finds the requests that arrived meanwhile.
func (n *numbering) paused(t *testing.T, pause time.Duration) {
	t.Helper()
	lead := leader(t, n.members)
	rest := others(n.members, lead)
	lead.signal(syscall.SIGSTOP)
	began := time.Now()
	var late sync.WaitGroup
	if pause > time.Second {
		next := leader(t, rest)
		n.untilNext(t, rest...)
		t.Logf("%s was stopped, %s led and all others issued numbers after %v", lead.name, next.name, time.Since(began).Round(time.Millisecond))
		for range 50 {
			late.Go(func() { _ = n.next(lead, 1) })
			late.Go(func() { _, _ = n.last(lead) })
		}
	}
	pass(t, max(pause-time.Since(began), 250*time.Millisecond)) // until the late requests are sent
	lead.signal(syscall.SIGCONT)
	late.Wait()
	n.untilNext(t, n.members...)
}

// transferred makes the leader transfer leadership.
func (n *numbering) transferred(t *testing.T) {
	t.Helper()
	until(t, "the leader transfers leadership", func() bool {
		id := leader(t, n.members).status().GetMemberId()
		resp, err := n.members[0].cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{})
		return err == nil && id != "" && resp.GetLeaderId() != id
	})
	n.untilNext(t, n.members...)
}
