package gossip

import (
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// failures returns the failed probes of one node, as counted by another.
func failures(of *gossiperNode, id string) ProbeFailures {
	of.gossip.probes.mu.Lock()
	defer of.gossip.probes.mu.Unlock()
	return of.gossip.probes.failed[id]
}

func TestUnansweredQuestionsCount(t *testing.T) {
	t.Parallel()
	a := gossiping(t, 1, 0, func(string) (bool, bool) { return true, true })
	trips := make(chan time.Duration, 1)
	a.gossip.roundTrip = func(member string, took time.Duration) { trips <- took }
	now := a.cfg.Watch.Now().Mono
	a.gossip.asked = map[uint64]clockAsked{
		1: {id: clusterkit.NodeID(2), at: now - unansweredAfter.Milliseconds()}, 2: {id: clusterkit.NodeID(2), at: now - 2*unansweredAfter.Milliseconds()}, 3: {id: clusterkit.NodeID(3), at: now + clusterkit.Patience.Milliseconds()},
	}
	a.gossip.RequestClocks()
	if got := failures(a, clusterkit.NodeID(2)); got.UDP != 2 {
		t.Errorf("failures of two old questions: %+v, want 2", got)
	}
	if got := failures(a, clusterkit.NodeID(3)); got.UDP != 0 {
		t.Errorf("failures of a new question: %+v, want none", got)
	}
	a.gossip.asked = map[uint64]clockAsked{0: {id: clusterkit.NodeID(2), at: now, sent: time.Now().Add(-time.Millisecond)}}
	answer := append(append([]byte{clockAnswer}, make([]byte, 16)...), clusterkit.NodeID(2)...)
	a.gossip.NotifyMsg(answer)
	select {
	case took := <-trips:
		if took < time.Millisecond {
			t.Errorf("round trip of at least 1ms took %v", took)
		}
	default:
		t.Error("an answer gave no round trip")
	}
	a.gossip.RequestClocks()
	if got := failures(a, clusterkit.NodeID(2)); got.UDP != 2 {
		t.Errorf("failures after an answer: %+v, want 2", got)
	}
}

func TestFailedConnectionsToMembersCount(t *testing.T) {
	t.Parallel()
	a := gossiping(t, 1, 0, func(id string) (bool, bool) { return id == clusterkit.NodeID(2), true })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	for _, c := range []struct {
		id   string
		want uint64
	}{{clusterkit.NodeID(3), 0}, {clusterkit.NodeID(2), 1}} {
		a.gossip.peers = map[string]Peer{c.id: {Claim: peer.Meta{ID: c.id, Gossip: closed}}}
		if _, err := a.gossip.screen.DialAddressTimeout(memberlist.Address{Addr: closed}, time.Second); err == nil {
			t.Fatal("connected to a closed port")
		}
		if got := failures(a, c.id); got.TCP != c.want {
			t.Errorf("failures of %s: %+v, want %d", c.id, got, c.want)
		}
	}
	a.gossip.probes.forgetExcept(func(string) bool { return false })
	if got := failures(a, clusterkit.NodeID(2)); got != (ProbeFailures{}) {
		t.Errorf("failures of a removed member: %+v", got)
	}
}
