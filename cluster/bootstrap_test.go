package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// waiting returns a node of a set whose nodes wait for each other, without network.
func waiting(id string, expect int) *Node {
	n := &Node{id: storage.NewIdentity(id, "", 1), process: peer.NewProcess(), cfg: Config{
		Name: id, BootstrapExpect: expect, RaftAddress: id + ":1",
		Watch: clock.NewWatch(clock.System(), nil, clock.Limits{}), Logger: slog.New(slog.DiscardHandler),
	}}
	n.gossip = gossip.New(n.gossipConfig(), n.meta, func(string) (bool, bool) { return true, true }, gossip.NewMisunderstood(slog.New(slog.DiscardHandler)))
	return n
}

// hear gives a node the present metadata of others.
func (n *Node) hear(others ...*Node) {
	for _, o := range others {
		if o != n {
			n.gossip.RecordClaim(o.meta(), true)
		}
	}
}

func TestBootstrapNeedsAllAndTheirAgreement(t *testing.T) {
	a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3)
	a.hear(b)
	if set := a.agreedSet(); set != nil {
		t.Fatal("two of three started")
	}
	a.hear(c)
	if set := a.agreedSet(); set != nil {
		t.Fatal("started before the others agreed")
	}
	b.hear(a, c)
	c.hear(a, b)
	if b.agreedSet() != nil || c.agreedSet() != nil {
		t.Fatal("a node without the lowest ID started")
	}
	a.hear(b)
	if set := a.agreedSet(); set != nil {
		t.Fatal("started before all agreed")
	}
	a.hear(c)
	set := a.agreedSet()
	if len(set) != 3 || set[0].ID != a.ID() || set[2].ID != c.ID() {
		t.Fatalf("started with %+v", set)
	}
}

func TestBootstrapWithMoreThanExpected(t *testing.T) {
	// Four nodes each wait for three, and not all see each other at first: b, c and d would start a cluster, until c learns
	// of a.
	a, b, c, d := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3), waiting(clusterkit.NodeID(4), 3)
	b.hear(c, d)
	c.hear(b, d)
	d.hear(b, c)
	b.agreedSet()
	d.agreedSet()
	c.hear(a)
	c.agreedSet() // announces a, b, c
	b.hear(c, d)
	if b.agreedSet() != nil {
		t.Fatal("b starts with c, which agreed to another set")
	}
	a.hear(b, c, d)
	if a.agreedSet() != nil {
		t.Fatal("a starts with b, which agreed to another set")
	}
	b.hear(a)
	b.agreedSet()
	a.hear(b)
	if set := a.agreedSet(); len(set) != 3 {
		t.Fatalf("a, b and c agree, and a starts with %+v", set)
	}
}

func TestBootstrapYieldsToACluster(t *testing.T) {
	a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3)
	for range 2 {
		for _, n := range []*Node{a, b, c} {
			n.hear(a, b, c)
			n.agreedSet()
		}
	}
	a.hear(b, c)
	if a.agreedSet() == nil {
		t.Fatal("no agreement")
	}
	old := waiting(clusterkit.NodeID(9), 0)
	old.id = storage.NewIdentity(clusterkit.NodeID(9), clusterkit.NodeID(77), 1)
	a.hear(old)
	if a.agreedSet() != nil {
		t.Error("started although a cluster exists")
	}
}

// Four nodes wait for three, and the host of the last one has a directory of an earlier cluster.
func TestNoClusterIsFoundedWithAPeerThatKnowsOne(t *testing.T) {
	nodes := []*Node{waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3), waiting(clusterkit.NodeID(4), 3)}
	nodes[3].quorum.Store(&knowsEarlier)
	for range 2 {
		for _, n := range nodes[:3] {
			n.hear(nodes...)
			if n.agreedSet() != nil {
				t.Fatal("started although a peer knows an earlier cluster")
			}
		}
	}
	if s := nodes[0].searchState().String(); !strings.Contains(s, nodes[3].cfg.Name) {
		t.Errorf("seeking() = %q, want the node that knows more", s)
	}
}

// A seed that refused a connection before it started, and that is seen since, has no failure.
func TestSeenSeedsHaveNoFailure(t *testing.T) {
	a, b := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3)
	a.cfg.Join = []string{"b:7703", "c:7703"}
	for _, seed := range a.cfg.Join {
		a.seedContacts.record(seed, errors.New("connection refused"))
	}
	seen := b.meta()
	seen.Gossip = "b:7703"
	a.gossip.RecordClaim(seen, true)
	if s := a.searchState().String(); strings.Contains(s, "b:7703") || !strings.Contains(s, "c:7703: connection refused") {
		t.Errorf("seeking() = %q, want a failure of c alone", s)
	}
}

func TestOneNodeOfDifferentExpectationDoesNotCount(t *testing.T) {
	a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 5)
	for range 2 {
		a.hear(b, c)
		b.hear(a, c)
		c.hear(a, b)
		if a.agreedSet() != nil || b.agreedSet() != nil || c.agreedSet() != nil {
			t.Fatal("started")
		}
	}
}

func TestAnOlderStartIsNotHeard(t *testing.T) {
	a, b := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3)
	b.id = storage.NewIdentity(clusterkit.NodeID(2), "", 5)
	a.hear(b)
	b.id, b.cfg.RaftAddress = storage.NewIdentity(clusterkit.NodeID(2), "", 4), "old:1"
	a.hear(b)
	if p, _ := a.gossip.Peer(b.ID()); p.Claim.Raft == "old:1" {
		t.Error("an older start's address replaced the present one")
	}
}
