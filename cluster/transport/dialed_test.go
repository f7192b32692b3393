package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// agreeable returns the stream layer of a member that accepts every handshake.
func agreeable(t *testing.T) *StreamLayer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := clusterkit.NewMeta()
	s := NewStreamLayer(listener, nil, agreeing(m), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// agreeing accepts every handshake, and claims to be the wanted node.
func agreeing(m peer.Meta) Owner {
	return Owner{
		Self: func() peer.Meta { return m },
		JudgeGreeting: func(h Greeting, _ string) Reply {
			m := m
			m.ID = h.To
			return Reply{From: m}
		},
		AddressesOf: func(string) ([]string, int) { return nil, 0 }, NoteMet: func(peer.Meta, string) {},
		EarlierProcess: func(peer.Meta) (peer.Meta, []string) { return peer.Meta{}, nil }, NoteDuplicate: func(peer.Meta, peer.Meta) {},
		NoteRefused: func(error) {}, NoteForeign: func(net.Addr, error) {}, Term: func() (uint64, bool) { return 1, true },
		Links: new(Links), AnswerLoss: func(context.Context, string, Loss) LossReply { return LossReply{} },
		HearID: func(string, string) {}, ClaimLife: func(lives.Claim) {},
	}
}

func TestAbandonedConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	s := agreeable(t)
	now := map[raft.ServerID]raft.ServerAddress{}
	open := map[raft.ServerID]net.Conn{}
	stays, moves, goes, ends := raft.ServerID(clusterkit.NodeID(1)), raft.ServerID(clusterkit.NodeID(2)), raft.ServerID(clusterkit.NodeID(3)), raft.ServerID(clusterkit.NodeID(4))
	for _, id := range []raft.ServerID{stays, moves, goes, ends} {
		now[id] = peer.RaftAddress(string(id), s.listener.Addr().String())
		var err error
		if open[id], err = s.dial(now[id], forTerms, clusterkit.Patience); err != nil {
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
