package transport

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// brittle is a transport whose pool holds broken connections.
type brittle struct {
	*raft.InmemTransport
	errors []error
	calls  int
}

func (b *brittle) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, _ *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	b.calls++
	resp.Term = 1
	if b.calls <= len(b.errors) {
		return b.errors[b.calls-1]
	}
	return nil
}

func TestLeaderTriesPastBrokenConnections(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	close(ready)
	for _, c := range []struct {
		errors []error
		calls  int
		fails  bool
	}{
		{calls: 1},
		{errors: []error{io.EOF, syscall.EPIPE, syscall.ECONNRESET}, calls: 4},
		{errors: []error{io.EOF, io.EOF, io.EOF, io.EOF, io.EOF}, calls: 1 + PoolSize, fails: true},
		{errors: []error{syscall.ECONNREFUSED}, calls: 1, fails: true},
	} {
		_, inner := raft.NewInmemTransport("a")
		b := &brittle{InmemTransport: inner, errors: c.errors}
		g := NewGuarded(b, ready, func() Bounds { return Bounds{Wall: 1} },
			func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
		err := g.AppendEntries("b", "b", &raft.AppendEntriesRequest{}, new(raft.AppendEntriesResponse))
		if b.calls != c.calls || (err != nil) != c.fails {
			t.Errorf("after %v: %d calls and %v, want %d", c.errors, b.calls, err, c.calls)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A leader's request on a connection that the other side closed arrives on a new connection.
func TestLeaderOpensConnectionsAgainAtOnce(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]int{"open": nil, "secured": {0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := layer(t, clusterkit.Keys(t, keys...)), layer(t, clusterkit.Keys(t, keys...))
			box := clusterkit.NewMiddlebox(t, new(clusterkit.Machine), b.listener.Addr().String())
			var ends [2]*raft.NetworkTransport
			for i, l := range []layered{a, b} {
				go func() {
					for range l.verified {
					}
				}()
				ends[i] = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: l.StreamLayer, MaxPool: PoolSize, Timeout: clusterkit.Patience})
				t.Cleanup(func() { _ = ends[i].Close() })
			}
			go func() {
				for rpc := range ends[1].Consumer() {
					rpc.Respond(&raft.AppendEntriesResponse{Term: 1, Success: true}, nil)
				}
			}()
			ready := make(chan struct{})
			close(ready)
			g := NewGuarded(ends[0], ready, func() Bounds { return Bounds{Wall: 1} },
				func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
			t.Cleanup(func() { _ = g.Close() })
			from := Origin{a.self.ID, a.self.Process}
			for round := range 5 {
				request := &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: 1}
				var resp raft.AppendEntriesResponse
				err := g.AppendEntries(raft.ServerID(b.self.ID), peer.RaftAddress(b.self.ID, box.Address), request, &resp)
				if err != nil || !resp.Success {
					t.Fatalf("round %d: %+v, %v", round, resp, err)
				}
				if !b.Links.Has(from) {
					t.Error("the acceptor counts no link")
				}
				gone := b.Links.Changed.Next()
				box.Reset()
				select {
				case <-gone:
				case <-time.After(clusterkit.Patience):
					t.Fatal("the acceptor does not notice that its link broke")
				}
			}
		})
	}
}
