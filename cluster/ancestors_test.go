package cluster

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/clock"
)

// answering is a Greeter whose nodes give a fixed answer.
type answering struct{ answer atomic.Pointer[error] }

func (a *answering) Greet(raft.ServerID, raft.ServerAddress) error { return *a.answer.Load() }

func (a *answering) with(err error) { a.answer.Store(&err) }

// claimedNow counts the claims that are kept.
func (a *ancestry) claimedNow() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.claims)
}

// A process of an ancestor counts as heard while it dials this node, or while it answers a dial as a node of another cluster.
// A claim of gossip alone does not count, because a recorded datagram can be replayed.
func TestAncestorIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := ofCluster(t)
		ancestor, dialed := someMeta(), new(answering)
		dialed.with(errors.New("connection refused"))
		n.greeter = dialed
		var cancel context.CancelFunc
		n.ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		n.gossip.watch = clock.NewWatch(clock.System(), nil, clock.Limits{})
		n.gossip.ancestry.clusters = func() []string { return []string{uuid.NewString(), ancestor.Cluster} }
		go n.meetAncestors()
		expect := func(want bool, when string) {
			t.Helper()
			<-time.After(ancestorsEvery + 2*ancestorsPause)
			member := n.AncestorHeard()
			if (member != "") != want || n.meta().Hears != want || strings.Contains(member, ancestor.Raft) != want {
				t.Errorf("%s: AncestorHeard() = %q, want one: %t", when, member, want)
			}
		}
		gone := func(when string) {
			t.Helper()
			<-time.After(ancestorKept)
			expect(false, when)
		}
		expect(false, "at first")
		_ = n.gossip.compatible(someMeta())
		n.judge(hello{From: someMeta(), To: n.ID()}, "")
		dialed.with(ErrOtherCluster)
		expect(false, "after members of other clusters")
		n.judge(hello{From: ancestor, To: ancestor.ID}, "")
		expect(true, "it dials")
		gone("it dials no longer")
		dialed.with(errors.New("connection refused"))
		for range 10 {
			_ = n.gossip.compatible(ancestor)
			expect(false, "gossip of a process that does not answer")
		}
		dialed.with(ErrOtherCluster)
		_ = n.gossip.compatible(ancestor)
		expect(true, "it is dialed")
		<-time.After(2 * ancestorKept)
		expect(true, "it still answers")
		dialed.with(nil)
		gone("a member of this cluster has its address")
		if left := n.gossip.ancestry.claimedNow(); left != 0 {
			t.Errorf("%d claims are kept", left)
		}
		for range 2 * maxAncestors {
			m := someMeta()
			m.Cluster = ancestor.Cluster
			_ = n.gossip.compatible(m)
		}
		if kept := n.gossip.ancestry.claimedNow(); kept > maxAncestors {
			t.Errorf("%d claims are kept", kept)
		}
	})
}

// An ancestor that another member hears counts too, once that member itself has reported it. This node does not announce such a
// report, so that the report expires.
func TestAncestorHeardByAnotherMember(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.peer(id)
	n.gossip.met(p.meta, p.meta.Raft)
	p.meta.Hears = true
	n.gossip.learn(p.meta, true)
	n.shareAncestors(false)
	if member := n.AncestorHeard(); member != "" || len(n.gossip.unmet()) != 1 {
		t.Errorf("gossip is believed: %q", member)
	}
	n.gossip.met(p.meta, p.meta.Raft)
	n.shareAncestors(false)
	if member := n.AncestorHeard(); !strings.Contains(member, p.meta.Name) {
		t.Errorf("AncestorHeard() = %q, want the name %q in it", member, p.meta.Name)
	}
	if n.meta().Hears {
		t.Error("meta().Hears = true for an ancestor that only another member heard")
	}
}
