package cluster

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"
)

func TestAbandonedConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := someMeta()
	s := newStreamLayer(listener, func() meta { return m }, func(hello) handshakeReply { return handshakeReply{} },
		func(error) {}, func() (uint64, bool) { return 1, true }, slog.New(slog.DiscardHandler))
	defer s.Close()
	now := map[raft.ServerID]raft.ServerAddress{}
	open := map[raft.ServerID]net.Conn{}
	for _, id := range []raft.ServerID{"stays", "moves", "goes", "ends"} {
		now[id] = raftAddress(string(id), listener.Addr().String())
		if open[id], err = s.dial(now[id], forTerms, time.Second); err != nil {
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
	now["moves"] = "moves@127.0.0.1:1"
	delete(now, "goes")
	_ = open["ends"].Close()
	if !s.dialed.closeAbandoned(current) || s.dialed.closeAbandoned(current) {
		t.Error("closeAbandoned() = false, or true twice")
	}
	for id, conn := range open {
		err := conn.SetDeadline(time.Time{})
		if closed := errors.Is(err, net.ErrClosed); closed != (id != "stays") {
			t.Errorf("the connection to %q: %v", id, err)
		}
	}
	if len(s.dialed.conns) != 1 {
		t.Errorf("%d connections are held, want 1", len(s.dialed.conns))
	}
}

// A member that was dead when it was removed is not contacted any more.
func TestDeadMemberIsForgottenWithItsRemoval(t *testing.T) {
	t.Parallel()
	a, b, c := waiting(nodeID(1), 3), waiting(nodeID(2), 3), waiting(nodeID(3), 3)
	b.cfg.GossipHost, c.cfg.GossipHost = "b", "c"
	members := map[string]bool{b.ID(): true, c.ID(): true}
	a.gossip.standing = func(id string) (bool, bool) { return members[id], members[id] }
	for _, n := range []*Node{b, c} {
		a.hear(n)
		a.gossip.NotifyLeave(&memberlist.Node{Name: n.meta().gossipName(), Meta: n.meta().encode()})
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
