package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A member that was dead when it was removed is no longer contacted.
func TestDeadMemberIsForgottenWithItsRemoval(t *testing.T) {
	t.Parallel()
	a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 3)
	b.cfg.GossipHost, c.cfg.GossipHost = "b", "c"
	members := map[string]bool{b.ID(): true, c.ID(): true}
	a.gossip = gossip.New(a.gossipConfig(), a.meta, func(id string) (bool, bool) { return members[id], members[id] }, gossip.NewMisunderstood(a.logger))
	for _, n := range []*Node{b, c} {
		a.hear(n)
		a.gossip.NotifyLeave(&memberlist.Node{Name: n.meta().GossipName(), Meta: n.meta().Encode()})
	}
	if a.gossip.ForgetGone(); len(a.gossipTargets()) != 2 {
		t.Errorf("strangers() = %v, want two dead members", a.gossipTargets())
	}
	delete(members, c.ID())
	a.gossip.ForgetGone()
	if got := a.gossipTargets(); len(got) != 1 || got[0] != b.meta().Gossip {
		t.Errorf("strangers() = %v after a removal, want %s", got, b.meta().Gossip)
	}
	if _, known := a.gossip.Peer(c.ID()); known {
		t.Error("the removed member is still known")
	}
}

// The other end of a connection to a member that died never closes it.
func TestRemovedDeadMemberLeavesNoConnection(t *testing.T) {
	t.Parallel()
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	mem, dead := raft.NewInmemStore(), clusterkit.NewMeta()
	dead.Raft, dead.Gossip = listeners[1].Addr().String(), "127.0.0.1:1"
	s := transport.NewStreamLayer(listeners[1], nil, transport.Owner{
		Self: func() peer.Meta { return dead }, JudgeGreeting: func(transport.Greeting, string) transport.Reply { return transport.Reply{From: dead} }, Links: new(transport.Links),
		EarlierProcess: func(peer.Meta) (peer.Meta, []string) { return peer.Meta{}, nil }, Term: func() (uint64, bool) { return 1, true },
	}, slog.New(slog.DiscardHandler))
	defer s.Close()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.Transport, c.RaftListener, c.RaftAddress = nil, listeners[0], listeners[0].Addr().String()
		c.Timing.Reconcile = time.Hour
	})
	t.Cleanup(func() { // runs after the cleanup of s, for which raft would wait
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	untilLeader(t, n)
	dead.Cluster = n.ClusterID()
	address := peer.RaftAddress(dead.ID, dead.Raft)
	if err := n.raft.AddNonvoter(raft.ServerID(dead.ID), address, 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	n.gossip.RecordClaim(dead, false)
	conn, err := n.stream.DialTerms(address, clusterkit.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Remove(t.Context(), dead.ID, false); err != nil {
		t.Fatal(err)
	}
	clusterkit.Eventually(t, "the removed member is forgotten, and the connection to it is closed", func() bool {
		_, known := n.gossip.Peer(dead.ID)
		return !known && errors.Is(conn.SetDeadline(time.Time{}), net.ErrClosed)
	})
}
