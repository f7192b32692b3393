package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"
)

// removals is a memory of removed members that takes its time.
type removals struct {
	mu    sync.Mutex
	gone  map[string]bool
	began chan struct{} // closed when Remove begins
	hold  chan struct{} // Remove waits until it is closed
}

func newRemovals() *removals {
	return &removals{gone: map[string]bool{}, began: make(chan struct{}), hold: make(chan struct{})}
}

func (r *removals) IsRemoved(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone[id]
}

func (r *removals) Remove(ctx context.Context, id string) error {
	close(r.began)
	select {
	case <-r.hold:
	case <-ctx.Done():
		return ctx.Err() // its command may still be applied
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone[id] = true
	return nil
}

// withNonvoter opens a leader and adds a nonvoter that is fit for promotion, which is not due.
func withNonvoter(t *testing.T, removed RemovedMembers) (leader *Node, nonvoter string) {
	t.Helper()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.Removed = removed
		c.Timing.Reconcile, c.Timing.Stabilization = time.Hour, time.Hour
	})
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	untilLeader(t, n)
	m := someMeta()
	m.Cluster = n.ClusterID()
	if err := n.raft.AddNonvoter(raft.ServerID(m.ID), raftAddress(m.ID, m.Raft), 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	n.gossip.learn(m, true)
	n.gossip.mu.Lock()
	p := n.gossip.peers[m.ID]
	p.own = n.stats()
	p.stats = p.own
	n.gossip.peers[m.ID] = p
	n.gossip.mu.Unlock()
	return n, m.ID
}

// due makes the promotion due. Call it while a change is in progress.
func (n *Node) due(id string) {
	n.cfg.Timing.Stabilization = time.Minute
	n.fitSince = map[raft.ServerID]time.Time{raft.ServerID(id): time.Now().Add(-time.Hour)}
}

func TestFitNonvoterIsPromoted(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	if err := n.change(func() error {
		if _, ok := n.promotable(n.servers(), time.Now()); ok {
			t.Error("promotable before it was fit for a while")
		}
		if s, ok := n.promotable(n.servers(), time.Now().Add(2*time.Hour)); !ok || string(s.ID) != id {
			t.Errorf("promotable() = %v, %v after a while, want the nonvoter", s, ok)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*peerInfo){
		"dead":         func(p *peerInfo) { p.alive = false },
		"nonvoter":     func(p *peerInfo) { p.meta.Nonvoter = true },
		"not heard":    func(p *peerInfo) { p.own = peerStats{} },
		"silent":       func(p *peerInfo) { p.stats.lastContact = mostSilent + 1 },
		"another term": func(p *peerInfo) { p.stats.lastTerm-- },
		"behind":       func(p *peerInfo) { p.stats.lastIndex = 0 },
	} {
		changed := p
		changed.own.lastIndex += mostBehind
		if !changed.fit() {
			t.Fatal("not fit")
		}
		if change(&changed); changed.fit() {
			t.Errorf("fit() = true for %s", name)
		}
	}
}

// Acknowledgements come every few seconds. A leader that appends much meanwhile compares with its log of then.
func TestNonvoterOfBusyLeaderIsFit(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	node, ack, own := &memberlist.Node{Meta: p.meta.encode()}, n.gossip.AckPayload(), n.stats()
	n.gossip.NotifyPingComplete(node, 0, ack)
	n.gossip.stats = func() peerStats { return peerStats{lastIndex: own.lastIndex + 100*mostBehind, lastTerm: own.lastTerm} }
	if p, _ := n.gossip.peer(id); !p.fit() {
		t.Errorf("fit() = false for %+v, want a nonvoter that lacked nothing when it answered", p)
	}
	n.gossip.NotifyPingComplete(node, 0, ack)
	if p, _ := n.gossip.peer(id); p.fit() {
		t.Errorf("fit() = true for %+v, want one that is behind", p)
	}
}

// A removal whose command is in progress precedes the promotion, also when its caller has gone.
func TestRemovalPrecedesPromotion(t *testing.T) {
	t.Parallel()
	for name, patient := range map[string]bool{"caller waits": true, "caller gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemovals()
			n, id := withNonvoter(t, r)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			removed := make(chan error, 1)
			go func() { removed <- n.Remove(ctx, id, false) }()
			<-r.began
			n.due(id)
			if !patient {
				cancel()
				if err := <-removed; !errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("Remove() = %v, want an unknown outcome", err)
				}
			}
			reconciled := make(chan error, 1)
			go func() { reconciled <- n.change(n.reconcile) }()
			select {
			case err := <-reconciled:
				t.Fatalf("the membership changed beside a removal: %v, %v", n.servers(), err)
			case <-time.After(50 * time.Millisecond):
			}
			close(r.hold)
			if err := <-reconciled; err != nil {
				t.Error(err)
			}
			if patient {
				if err := <-removed; err != nil {
					t.Error(err)
				}
			}
			if s, ok := n.server(id); ok {
				t.Errorf("the removed member is %v", s)
			}
		})
	}
}

// Raft leads in no later term while a change is in progress: what the change saw would be outdated.
func TestChangeEndsInItsTerm(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	for len(n.gossip.changed) > 0 {
		<-time.After(time.Millisecond)
	}
	<-time.After(20 * time.Millisecond) // reconcileLoop, which would wait for the change, is idle
	term := n.Term()
	err := n.change(func() error {
		_, peer := raft.NewInmemTransport("b")
		peer.Connect(n.cfg.Transport.LocalAddr(), n.cfg.Transport.(raft.LoopbackTransport))
		req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: []byte("b")}, Term: term + 1}
		if err := peer.AppendEntries("", n.cfg.Transport.LocalAddr(), req, new(raft.AppendEntriesResponse)); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); n.raft.State() != raft.Leader || n.Term() == term; <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("state %v in term %d", n.raft.State(), n.Term())
			}
		}
		s, _ := n.server(id)
		return n.settle(n.raft.AddVoter(s.ID, s.Address, 0, enqueueTimeout))
	})
	if !errors.Is(err, ErrNotLeader) {
		t.Errorf("the change was made in a later term: %v", err)
	}
	if s, _ := n.server(id); s.Suffrage == raft.Voter {
		t.Error("the nonvoter became a voter")
	}
	untilLeader(t, n)
}

// A removed member that still is a voter may be needed for the change that takes it out.
func TestRemovedVoterIsHeardUntilItLeft(t *testing.T) {
	t.Parallel()
	r := newRemovals()
	n, id := withNonvoter(t, r)
	p, _ := n.gossip.peer(id)
	r.mu.Lock()
	r.gone[id] = true
	r.mu.Unlock()
	if v := n.judge(hello{From: p.meta, To: n.ID()}); v.err() != nil {
		t.Errorf("judge() of a removed member in the configuration = %v", v.err())
	}
	if err := n.change(n.reconcile); err != nil {
		t.Fatal(err)
	}
	if v := n.judge(hello{From: p.meta, To: n.ID()}); !errors.Is(v.err(), ErrRemoved) {
		t.Errorf("judge() of a removed member = %v, want ErrRemoved", v.err())
	}
}
