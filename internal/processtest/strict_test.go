//go:build process

package processtest

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/lincheck"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestStrictSequence has the leader killed, stopped for a while and replaced while
// clients number with a strict sequence and ask for its last number.
func TestStrictSequence(t *testing.T) {
	const clients, readers = 64, 6
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
	n.stop()

	calls := n.history.Calls()
	t.Logf("%d calls were answered, %d failed", len(calls), n.failed)
	if err := lincheck.CheckOrder(calls); err != nil {
		t.Error(err)
	}
	if err := lincheck.CheckLinear(calls, 3000, time.Minute); err != nil {
		t.Error(err)
	}
	if len(calls) < 5000 {
		t.Error("too few calls were answered to tell anything")
	}
}

// quiet shows that without faults there are no gaps, and that any member knows the
// last number that any other issued.
func quiet(t *testing.T, n *numbering) {
	t.Helper()
	if last, err := n.last(n.members[1]); err != nil || last != 0 {
		t.Errorf("the last number before the first one is %d, %v", last, err)
	}
	for i := range 9 {
		m, o := n.members[i%3], n.members[(i+1+i/3)%3]
		if err := n.next(m, 10); err != nil {
			t.Fatal(err)
		}
		if last, err := n.last(o); err != nil || last != int64(10*(i+1)) {
			t.Errorf("%s says that the last number is %d, %v, after %s issued %d times 10", o.name, last, err, m.name, i+1)
		}
	}
}

// paused stops the leader's process and lets it go on after a time. Requests that were
// sent to it meanwhile, and after another leader issued numbers, it finds when it wakes up.
func (n *numbering) paused(t *testing.T, pause time.Duration) {
	t.Helper()
	lead := leader(t, n.members)
	rest := others(n.members, lead)
	lead.signal(syscall.SIGSTOP)
	began := time.Now()
	took := time.Duration(-1)
	var late sync.WaitGroup
	if pause > time.Second {
		next := leader(t, rest)
		n.untilNext(t, rest...)
		took = time.Since(began)
		for range 50 {
			late.Go(func() { _ = n.next(lead, 1) })
			late.Go(func() { _, _ = n.last(lead) })
		}
		t.Logf("%s was stopped, %s led and all others issued numbers after %v", lead.name, next.name, took.Round(time.Millisecond))
	}
	if took > pause {
		t.Errorf("the others issued no numbers for %v while the leader was stopped", took)
	}
	pass(t, pause-time.Since(began))
	lead.signal(syscall.SIGCONT)
	late.Wait()
	n.untilNext(t, n.members...)
}

// transferred has the leader hand over.
func (n *numbering) transferred(t *testing.T) {
	t.Helper()
	lead := leader(t, n.members)
	if _, err := lead.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{}); err != nil {
		t.Error(err)
	}
	pass(t, 300*time.Millisecond)
	if now := leader(t, n.members); now == lead {
		t.Errorf("%s still leads", lead.name)
	}
	n.untilNext(t, n.members...)
}
