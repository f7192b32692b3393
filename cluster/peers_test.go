package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
)

// A claim of gossip or of a caller about a member does not change the member's own metadata. The next handshake removes it.
func TestForgedClaimsAreHints(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	honest := p.meta
	n.gossip.met(honest, "at:1")
	forged := honest
	forged.Starts, forged.Raft, forged.API, forged.Gossip, forged.Commands = 1<<62, "forged:1", "forged:2", "forged:3", 99
	n.gossip.learn(forged, true)
	if reply := n.judge(transport.Greeting{From: forged, To: n.ID()}, ""); reply.Err() != nil {
		t.Fatal(reply.Err())
	}
	addresses, certain := n.where(id)
	if !slices.Equal(addresses, []string{"at:1", honest.Raft, "forged:1"}) || certain != 2 {
		t.Errorf("where() = %v, %d", addresses, certain)
	}
	if address, err := n.ServerAddr(raft.ServerID(id)); err != nil || peer.HostPort(address) != "at:1" {
		t.Errorf("ServerAddr() = %v, %v", address, err)
	}
	m, err := n.Member(id)
	if err != nil || m.API != honest.API || m.Gossip != honest.Gossip || m.Commands != honest.Commands {
		t.Errorf("Member() = %+v, %v, want the data of %+v", m, err, honest)
	}
	if unmet := n.gossip.unmet(); len(unmet) != 1 {
		t.Errorf("%d claims are to be checked, want 1", len(unmet))
	}
	n.gossip.met(honest, "at:1")
	if unmet := n.gossip.unmet(); len(unmet) != 0 {
		t.Errorf("claims %v are to be checked after a handshake", unmet)
	}
	stalled := honest
	stalled.Stalled = true // too briefly for a message of gossip
	n.gossip.met(stalled, "at:1")
	records := map[string]peer.Meta{honest.Process: honest}
	if unmet := n.gossip.unmetAmong(records); !slices.Equal(unmet, []peer.Meta{honest}) {
		t.Errorf("claims %v are to be checked, want that of memberlist", unmet)
	}
	n.gossip.met(honest, "at:1")
	if unmet := n.gossip.unmetAmong(records); len(unmet) != 0 {
		t.Errorf("claims %v are to be checked after a handshake, and memberlist has the same", unmet)
	}
	moved := startedAgain(honest)
	moved.API = "moved:2"
	n.gossip.learn(moved, true)
	if p, _ := n.gossip.peer(id); p.meta != moved {
		t.Errorf("the next start is not heard: %+v", p.meta)
	}
}

// A stranger that announces the departure of a forged start of a member does not make the member look dead.
func TestForgedStartLeaves(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	honest, forged := p.meta, startedAgain(p.meta)
	node := func(m peer.Meta) *memberlist.Node { return &memberlist.Node{Name: m.GossipName(), Meta: m.Encode()} }
	for _, m := range []peer.Meta{honest, forged} {
		if err := n.gossip.NotifyAlive(node(m)); err != nil {
			t.Fatal(err)
		}
		n.gossip.NotifyJoin(node(m))
		n.gossip.met(honest, honest.Raft)
		n.gossip.learn(m, true)
	}
	n.gossip.NotifyLeave(node(forged))
	if p, _ := n.gossip.peer(id); !p.alive || p.meta != honest {
		t.Errorf("the member looks dead: %+v", p)
	}
	n.gossip.NotifyLeave(node(honest))
	if p, _ := n.gossip.peer(id); p.alive {
		t.Error("the member looks alive after it left")
	}
}

func TestHintsAreBounded(t *testing.T) {
	t.Parallel()
	var hints []string
	for _, address := range []string{"a", "b", "c", "d", "b", "e"} {
		hints = hinted(hints, address)
	}
	if !slices.Equal(hints, []string{"c", "d", "b", "e"}) {
		t.Errorf("hints %v", hints)
	}
}

// A claim to be stalled counts once a leader has been known for a while: it may be from before the election.
func TestOldClaimToStallDoesNotCount(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	stalled := p.meta
	stalled.Stalled = true
	n.gossip.met(stalled, "at:1")
	voter := raft.Server{ID: raft.ServerID(id), Suffrage: raft.Voter, Address: "at:1"}
	for led, want := range map[time.Duration]bool{time.Second + 1: false, stalledKnown + 1: true} {
		n.ledFrom.Store(int64(n.gossip.mono() - led))
		if m := n.describe(voter, peer.Meta{}, ""); m.Stalled != want {
			t.Errorf("with a leader for %v: %+v, want stalled %t", led, m, want)
		}
	}
}
