package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A claim of gossip or of a caller about a member does not change the member's own metadata. The next handshake removes it.
func TestForgedClaimsAreHints(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	honest := p.Claim
	n.gossip.RecordConfirmed(honest, "at:1")
	forged := honest
	forged.Starts, forged.Raft, forged.API, forged.Gossip, forged.Commands = 1<<62, "forged:1", "forged:2", "forged:3", 99
	n.gossip.RecordClaim(forged, true)
	if reply := n.judgeGreeting(transport.Greeting{From: forged, To: n.ID()}, ""); reply.Err() != nil {
		t.Fatal(reply.Err())
	}
	addresses, certain := n.addressesOf(id)
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
	if unmet := n.gossip.UnconfirmedClaims(); len(unmet) != 1 {
		t.Errorf("%d claims are to be checked, want 1", len(unmet))
	}
	n.gossip.RecordConfirmed(honest, "at:1")
	if unmet := n.gossip.UnconfirmedClaims(); len(unmet) != 0 {
		t.Errorf("claims %v are to be checked after a handshake", unmet)
	}
	stalled := honest
	stalled.Stalled = true // too briefly for a message of gossip
	n.gossip.NotifyUpdate(&memberlist.Node{Name: honest.GossipName(), Meta: honest.Encode()})
	n.gossip.RecordConfirmed(stalled, "at:1")
	if unmet := n.gossip.UnconfirmedClaims(); !slices.Equal(unmet, []peer.Meta{honest}) {
		t.Errorf("claims %v are to be checked, want that of memberlist", unmet)
	}
	n.gossip.RecordConfirmed(honest, "at:1")
	if unmet := n.gossip.UnconfirmedClaims(); len(unmet) != 0 {
		t.Errorf("claims %v are to be checked after a handshake, and memberlist has the same", unmet)
	}
	moved := clusterkit.Restarted(honest)
	moved.API = "moved:2"
	n.gossip.RecordClaim(moved, true)
	if p, _ := n.gossip.Peer(id); p.Claim != moved {
		t.Errorf("the next start is not heard: %+v", p.Claim)
	}
}

// A stranger that announces the departure of a forged start of a member does not make the member look dead.
func TestForgedStartLeaves(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	honest, forged := p.Claim, clusterkit.Restarted(p.Claim)
	node := func(m peer.Meta) *memberlist.Node { return &memberlist.Node{Name: m.GossipName(), Meta: m.Encode()} }
	for _, m := range []peer.Meta{honest, forged} {
		if err := n.gossip.NotifyAlive(node(m)); err != nil {
			t.Fatal(err)
		}
		n.gossip.NotifyJoin(node(m))
		n.gossip.RecordConfirmed(honest, honest.Raft)
		n.gossip.RecordClaim(m, true)
	}
	n.gossip.NotifyLeave(node(forged))
	if p, _ := n.gossip.Peer(id); !p.Alive || p.Claim != honest {
		t.Errorf("the member looks dead: %+v", p)
	}
	n.gossip.NotifyLeave(node(honest))
	if p, _ := n.gossip.Peer(id); p.Alive {
		t.Error("the member looks alive after it left")
	}
}

// A claim to be stalled counts once a leader has been known for a while: it may be from before the election.
func TestOldClaimToStallDoesNotCount(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	stalled := p.Claim
	stalled.Stalled = true
	n.gossip.RecordConfirmed(stalled, "at:1")
	voter := raft.Server{ID: raft.ServerID(id), Suffrage: raft.Voter, Address: "at:1"}
	for led, want := range map[time.Duration]bool{time.Second + 1: false, stalledKnown + 1: true} {
		n.ledFrom.Store(int64(n.mono() - led))
		if m := n.describe(voter, peer.Meta{}, ""); m.Stalled != want {
			t.Errorf("with a leader for %v: %+v, want stalled %t", led, m, want)
		}
	}
}
