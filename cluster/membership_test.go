package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// removals records removed members, with a delay that the test controls.
type removals struct {
	mu    sync.Mutex
	gone  map[string]bool
	began chan struct{} // closed when Remove begins
	hold  chan struct{} // Remove waits until it is closed

	watched string        // member, guarded by mu; empty: none
	asked   chan struct{} // receives two values at each call of IsRemoved for the watched member
}

func newRemovals() *removals {
	return &removals{gone: map[string]bool{}, began: make(chan struct{}), hold: make(chan struct{}), asked: make(chan struct{})}
}

func (r *removals) IsRemoved(id string) bool {
	r.mu.Lock()
	watched := id == r.watched
	r.mu.Unlock()
	if watched {
		r.asked <- struct{}{}
		r.asked <- struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone[id]
}

// untilIdle returns while reconcileLoop examines the nonvoter id, with nothing else to examine after that.
func (r *removals) untilIdle(n *Node, id string) {
	r.watch(id)
	n.gossip.SignalChange()
	for busy := true; busy; {
		<-r.asked
		if busy = len(n.gossip.Changes()) > 0; !busy {
			r.watch("")
		}
		<-r.asked
	}
}

func (r *removals) watch(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched = id
}

func (r *removals) Remove(ctx context.Context, id string) error {
	close(r.began)
	select {
	case <-r.hold:
	case <-ctx.Done():
		return ctx.Err() // the command may still be applied
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
		c.Timing.Reconcile, c.Timing.PromoteAfter = time.Hour, time.Hour
	})
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	untilLeader(t, n)
	m := clusterkit.NewMeta()
	m.Cluster = n.ClusterID()
	if err := n.raft.AddNonvoter(raft.ServerID(m.ID), peer.RaftAddress(m.ID, m.Raft), 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	n.gossip.RecordClaim(m, true)
	n.acknowledges(m.ID, n.raft.LastIndex())
	return n, m.ID
}

// reconciled makes one change of the membership. On a busy machine, Raft may take too long to accept it.
func (n *Node) reconciled(t *testing.T) {
	t.Helper()
	clusterkit.Eventually(t, "the leader reconciles", func() bool { return n.changeMembership(n.reconcile) == nil })
}

// acknowledges simulates a follower's answer that it has all entries up to last, as if all were committed.
func (n *Node) acknowledges(id string, last uint64) {
	n.replicated.Observe(raft.ServerID(id),
		&raft.AppendEntriesRequest{Term: n.Term(), PrevLogEntry: last, LeaderCommitIndex: n.CommitIndex()},
		&raft.AppendEntriesResponse{Term: n.Term(), Success: true}, n.mono())
}

// due makes the promotion due. Call it while a change is in progress.
func (n *Node) due(id string) {
	n.cfg.Timing.PromoteAfter = time.Minute
	p, _ := n.gossip.Peer(id)
	n.fitSince = map[raft.ServerID]fitness{raft.ServerID(id): {time.Now().Add(-time.Hour), p.Known().Starts}}
}

func TestFitNonvoterIsPromoted(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	if err := n.changeMembership(func() error {
		if _, ok := n.promotable(n.servers(), time.Now()); ok {
			t.Error("promotable before it was fit for a while")
		}
		n.acknowledges(id, n.raft.LastIndex()) // a moment ago, as far as the node knows
		if s, ok := n.promotable(n.servers(), time.Now().Add(2*time.Hour)); !ok || string(s.ID) != id {
			t.Errorf("promotable() = %v, %v after a while, want the nonvoter", s, ok)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	m := p.Claim
	m.Starts++
	if err := n.changeMembership(func() error { // a single change, because reconcile must not run in between
		n.gossip.RecordClaim(m, true)
		if _, ok := n.promotable(n.servers(), time.Now().Add(3*time.Hour)); ok {
			t.Error("promotable right after a restart")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	m.Nonvoter = true
	n.gossip.RecordClaim(m, true)
	if n.isFit(raft.ServerID(id)) {
		t.Error("fit() = true for a node that must not vote")
	}
	m.Nonvoter = false
	n.gossip.NotifyLeave(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()})
	if n.isFit(raft.ServerID(id)) {
		t.Error("fit() = true for a dead node")
	}
	n.gossip.RecordClaim(m, true)
	if !n.isFit(raft.ServerID(id)) {
		t.Error("fit() = false for a live node that replicates")
	}
}

// A removal whose command is in progress precedes the promotion, even if the removal's caller has given up.
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
			go func() { reconciled <- n.changeMembership(n.reconcile) }()
			select {
			case err := <-reconciled:
				t.Fatalf("the membership changed during a removal: %v, %v", n.servers(), err)
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

// Raft does not lead in a later term while a change is in progress: the change would rest on outdated facts.
func TestChangeEndsInItsTerm(t *testing.T) {
	t.Parallel()
	r := newRemovals()
	n, id := withNonvoter(t, r)
	r.untilIdle(n, id) // otherwise reconcileLoop could wait for the change, and leadership for that loop
	term := n.Term()
	err := n.changeMembership(func() error {
		_, peer := raft.NewInmemTransportWithTimeout("b", clusterkit.Patience)
		peer.Connect(n.cfg.Transport.LocalAddr(), n.cfg.Transport.(raft.LoopbackTransport))
		req := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: []byte("b")}, Term: term + 1}
		if err := peer.AppendEntries("", n.cfg.Transport.LocalAddr(), req, new(raft.AppendEntriesResponse)); err != nil {
			t.Fatal(err)
		}
		clusterkit.Eventually(t, "Raft leads in a later term", func() bool { return n.raft.State() == raft.Leader && n.Term() > term })
		s, _ := n.server(id)
		return n.awaitChange(n.raft.AddVoter(s.ID, s.Address, 0, enqueueTimeout))
	})
	if !errors.Is(err, ErrNotLeader) {
		t.Errorf("the change was made in a later term: %v", err)
	}
	if s, _ := n.server(id); s.Suffrage == raft.Voter {
		t.Error("the nonvoter became a voter")
	}
	untilLeader(t, n)
}

// A removed member that is still a voter may be needed for the configuration change that removes it.
func TestRemovedVoterIsHeardUntilItLeft(t *testing.T) {
	t.Parallel()
	r := newRemovals()
	n, id := withNonvoter(t, r)
	p, _ := n.gossip.Peer(id)
	if err := n.changeMembership(func() error { // meanwhile the leader does not finish the removal
		r.mu.Lock()
		r.gone[id] = true
		r.mu.Unlock()
		return n.judgeGreeting(transport.Greeting{From: p.Claim, To: n.ID()}, "").Err()
	}); err != nil {
		t.Errorf("judge() of a removed member in the configuration = %v", err)
	}
	n.reconciled(t)
	if v := n.judgeGreeting(transport.Greeting{From: p.Claim, To: n.ID()}, ""); !errors.Is(v.Err(), peer.ErrRemoved) {
		t.Errorf("judge() of a removed member = %v, want ErrRemoved", v.Err())
	}
}

// Every process that reaches the gossip port can announce nodes, but only a node that replicates gets a vote.
func TestForgedNodesGetNoVote(t *testing.T) {
	t.Parallel()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) { c.Timing.Reconcile, c.Timing.PromoteAfter = time.Hour, time.Nanosecond })
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	untilLeader(t, n)
	for range 3 {
		m := clusterkit.NewMeta()
		m.Name, m.Cluster = m.ID, ""
		n.gossip.RecordClaim(m, true)
	}
	for range 10 { // each makes one change
		if others, _ := n.otherVoters(); len(others) > 0 {
			t.Fatalf("forged nodes %v became voters", others)
		}
		n.reconciled(t)
	}
	if servers := n.servers(); len(servers) != 4 {
		t.Errorf("%d servers, want the forged nodes among them", len(servers))
	}
	if _, err := n.Propose(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
}

// The last voter stays, with force too. The refusal does not count the other voters, because there are none.
func TestLastVoterStays(t *testing.T) {
	t.Parallel()
	n, _ := withNonvoter(t, newRemovals())
	for _, force := range []bool{false, true} {
		if err := n.CheckRemoval(n.ID(), force); !errors.Is(err, ErrQuorum) || !strings.Contains(err.Error(), "it is the last voter") {
			t.Errorf("CheckRemoval(force %t) = %v", force, err)
		}
	}
}
