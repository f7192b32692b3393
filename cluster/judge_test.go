package cluster

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// Any program that dials receives refusals.
func TestRefusalsNameNoIDs(t *testing.T) {
	t.Parallel()
	n := ofCluster(t)
	other := clusterkit.NewMeta()
	for _, h := range []transport.Greeting{{From: clusterkit.NewMeta(), To: n.ID()}, {From: sameCluster(n), To: other.ID}} {
		reply := n.judgeGreeting(h, "")
		if reply.Err() == nil || reply.From != (peer.Meta{}) {
			t.Errorf("judge() = %+v", reply)
		}
		for _, id := range []string{n.ID(), n.ClusterID()} {
			if strings.Contains(reply.Detail, id) || strings.Contains(reply.Err().Error(), id) {
				t.Errorf("%q names %s", reply.Detail, id)
			}
		}
	}
}

// ofCluster returns a node with only the parts that judge other nodes.
func ofCluster(t *testing.T) *Node {
	n := &Node{logger: slog.New(slog.DiscardHandler), process: peer.NewProcess()}
	n.id = storage.NewIdentity(uuid.NewString(), uuid.NewString(), 1)
	n.cfg = Config{
		Name: "a", GossipHost: "h", GossipPort: 3, RaftAddress: "h:1", APIAddress: "h:2", Removed: emptyFSM{}, Logger: n.logger,
		Watch: clock.NewWatch(clock.System(), nil, clock.Limits{}),
	}
	n.foreign = gossip.NewMisunderstood(n.logger)
	n.gossip = gossip.New(n.gossipConfig(), n.meta, func(string) (bool, bool) { return false, false }, n.foreign)
	n.lives = n.gossip.Lives
	if v := n.judgeGreeting(transport.Greeting{From: sameCluster(n), To: n.ID()}, ""); v.Err() != nil {
		t.Fatalf("one of its own is refused: %+v", v)
	}
	return n
}

func sameCluster(n *Node) peer.Meta {
	m := clusterkit.NewMeta()
	m.Cluster = n.ClusterID()
	return m
}

func TestHandshakeRefusesOtherClusters(t *testing.T) {
	n := ofCluster(t)
	if err := n.judgeGreeting(transport.Greeting{From: clusterkit.NewMeta(), To: n.ID()}, "").Err(); !errors.Is(err, peer.ErrOtherCluster) {
		t.Errorf("judge() = %v, want %v", err, peer.ErrOtherCluster)
	}
}

// Another member may run at an address that the caller remembers.
func TestHandshakeRefusesCallsForAnotherMember(t *testing.T) {
	n := ofCluster(t)
	if reply := n.judgeGreeting(transport.Greeting{From: sameCluster(n), To: uuid.NewString()}, ""); reply.Refused != transport.OtherNode {
		t.Errorf("judge() = %+v, want %q", reply, transport.OtherNode)
	}
}

// A member cannot impersonate another member with its own certificate.
func TestCertificateIsOfTheCaller(t *testing.T) {
	t.Parallel()
	n := ofCluster(t)
	n.cfg.Keys = clusterkit.Keys(t, 0)
	h := transport.Greeting{From: sameCluster(n), To: n.ID()}
	if n.judgeGreeting(h, clusterkit.NewMeta().ID).Err() == nil {
		t.Error("another member's certificate was taken")
	}
	if n.judgeGreeting(h, "").Err() == nil {
		t.Error("a caller without certificate was taken")
	}
	if err := n.judgeGreeting(h, h.From.ID).Err(); err != nil {
		t.Errorf("judge() = %v", err)
	}
}

// A second process of a member is logged once.
func TestCopyIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log, own := new(clusterkit.Log), clusterkit.NewMeta()
	n, refused := &Node{logger: slog.New(slog.NewTextHandler(log, nil))}, clusterkit.Restarted(own)
	for range 3 {
		n.onDuplicate(refused, own)
	}
	if n := log.Lines("second process of a member rejected"); n != 1 {
		t.Errorf("%d lines about a copy that was refused", n)
	}
}
