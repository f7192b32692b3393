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

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
)

// agreeable returns the stream layer of a member that accepts every handshake.
func agreeable(t *testing.T) *streamLayer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := someMeta()
	s := newStreamLayer(listener, nil, agreeing(m), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// agreeing accepts every handshake, and claims to be the wanted node.
func agreeing(m peer.Meta) peering {
	return peering{
		self: func() peer.Meta { return m },
		judge: func(h hello, _ string) handshakeReply {
			m := m
			m.ID = h.To
			return handshakeReply{From: m}
		},
		where: func(string) ([]string, int) { return nil, 0 }, met: func(peer.Meta, string) {},
		earlier: func(peer.Meta) (peer.Meta, []string) { return peer.Meta{}, nil }, duplicate: func(peer.Meta, peer.Meta) {},
		refused: func(error) {}, foreign: func(net.Addr, error) {}, term: func() (uint64, bool) { return 1, true },
		links: new(links), witness: func(context.Context, string, Loss) LossReply { return LossReply{} },
		hearID: func(string, string) {}, claimLife: func(lives.Claim) {},
	}
}

func TestAbandonedConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	s := agreeable(t)
	now := map[raft.ServerID]raft.ServerAddress{}
	open := map[raft.ServerID]net.Conn{}
	stays, moves, goes, ends := raft.ServerID(nodeID(1)), raft.ServerID(nodeID(2)), raft.ServerID(nodeID(3)), raft.ServerID(nodeID(4))
	for _, id := range []raft.ServerID{stays, moves, goes, ends} {
		now[id] = peer.RaftAddress(string(id), s.listener.Addr().String())
		var err error
		if open[id], err = s.dial(now[id], forTerms, patience); err != nil {
			t.Fatal(err)
		}
		defer open[id].Close()
	}
	current := func(id raft.ServerID) (raft.ServerAddress, error) {
		if address, ok := now[id]; ok {
			return address, nil
		}
		return "", errors.New("not known")
	}
	if s.dialed.closeAbandoned(current) {
		t.Error("closeAbandoned() = true with all members at their addresses")
	}
	now[moves] = peer.RaftAddress(string(moves), "127.0.0.1:1")
	delete(now, goes)
	_ = open[ends].Close()
	if !s.dialed.closeAbandoned(current) || s.dialed.closeAbandoned(current) {
		t.Error("closeAbandoned() = false, or true twice")
	}
	for id, conn := range open {
		err := conn.SetDeadline(time.Time{})
		if closed := errors.Is(err, net.ErrClosed); closed != (id != stays) {
			t.Errorf("the connection to %q: %v", id, err)
		}
	}
	if len(s.dialed.conns) != 1 {
		t.Errorf("%d connections are held, want 1", len(s.dialed.conns))
	}
}

// A member that was dead when it was removed is no longer contacted.
func TestDeadMemberIsForgottenWithItsRemoval(t *testing.T) {
	t.Parallel()
	a, b, c := waiting(nodeID(1), 3), waiting(nodeID(2), 3), waiting(nodeID(3), 3)
	b.cfg.GossipHost, c.cfg.GossipHost = "b", "c"
	members := map[string]bool{b.ID(): true, c.ID(): true}
	a.gossip.standing = func(id string) (bool, bool) { return members[id], members[id] }
	for _, n := range []*Node{b, c} {
		a.hear(n)
		a.gossip.NotifyLeave(&memberlist.Node{Name: n.meta().GossipName(), Meta: n.meta().Encode()})
	}
	if a.gossip.forget(); len(a.strangers()) != 2 {
		t.Errorf("strangers() = %v, want two dead members", a.strangers())
	}
	delete(members, c.ID())
	a.gossip.forget()
	if got := a.strangers(); len(got) != 1 || got[0] != b.meta().Gossip {
		t.Errorf("strangers() = %v after a removal, want %s", got, b.meta().Gossip)
	}
	if _, known := a.gossip.peer(c.ID()); known {
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
	mem, dead := raft.NewInmemStore(), someMeta()
	dead.Raft, dead.Gossip = listeners[1].Addr().String(), "127.0.0.1:1"
	s := newStreamLayer(listeners[1], nil, agreeing(dead), slog.New(slog.DiscardHandler))
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
	n.gossip.learn(dead, false)
	conn, err := n.stream.dialTerms(address, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Remove(t.Context(), dead.ID, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removed member is forgotten, and no connection to it is held", func() bool {
		_, known := n.gossip.peer(dead.ID)
		n.stream.dialed.mu.Lock()
		defer n.stream.dialed.mu.Unlock()
		return !known && len(n.stream.dialed.conns) == 0
	})
	if err := conn.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection to the removed member is open: %v", err)
	}
}
