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

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
)

// answering is a Greeter whose nodes give a fixed answer.
type answering struct{ answer atomic.Pointer[error] }

func (a *answering) Greet(raft.ServerID, raft.ServerAddress) error { return *a.answer.Load() }

func (a *answering) with(err error) { a.answer.Store(&err) }

// meeting is a LifeMeeter whose nodes give a fixed answer.
type meeting struct {
	answering
	relation Relation
	met      atomic.Int64
}

func (m *meeting) MeetLife(context.Context, string, string) (Relation, error) {
	m.met.Add(1)
	return m.relation, *m.answer.Load()
}

// dialable counts the claims that are dialed.
func (h *heardLives) dialable() (count int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.claims {
		if c.idle == 0 {
			count++
		}
	}
	return count
}

// meetingLives returns a node that dials the nodes of other lives.
func meetingLives(t *testing.T, lives Lives) (*Node, *meeting) {
	t.Helper()
	n, dialed := ofCluster(t), new(meeting)
	dialed.with(errors.New("connection refused"))
	n.meeter, n.cfg.Events = dialed, eventsOf(n.cfg)
	var cancel context.CancelFunc
	n.ctx, cancel = context.WithCancel(t.Context())
	t.Cleanup(cancel)
	n.gossip.watch = clock.NewWatch(clock.System(), nil, clock.Limits{})
	n.cfg.Watch = n.gossip.watch
	n.cfg.Lives = func() Lives { return lives }
	n.gossip.heard.lives = n.cfg.Lives
	return n, dialed
}

// A process of an ancestor counts as heard while it dials this node, or while it answers a dial as a node in another cluster.
// A claim of gossip alone does not count, because a recorded datagram can be replayed.
func TestAncestorIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ancestor := someMeta()
		n, dialed := meetingLives(t, Lives{Ancestors: []string{uuid.NewString(), ancestor.Cluster}})
		ctx, cancel := context.WithCancel(n.ctx)
		n.ctx = ctx
		defer cancel()
		go n.meetLives()
		expect := func(want bool, when string) {
			t.Helper()
			<-time.After(livesEvery + 2*livesPause)
			heard := n.OldLife()
			if (heard.Member != "") != want || n.meta().Hears != want || strings.Contains(heard.Member, ancestor.Raft) != want {
				t.Errorf("%s: OldLife() = %+v, want one: %t", when, heard, want)
			}
			if want && (heard.Relation != Older || heard.Cluster != ancestor.Cluster) {
				t.Errorf("%s: OldLife() = %+v", when, heard)
			}
		}
		gone := func(when string) {
			t.Helper()
			<-time.After(lifeKept)
			expect(false, when)
		}
		expect(false, "at first")
		_ = n.gossip.compatible(someMeta())
		n.judge(hello{From: someMeta(), To: n.ID()}, "")
		dialed.with(peer.ErrOtherCluster)
		expect(false, "after members in other clusters")
		dialed.with(errors.New("connection refused"))
		n.judge(hello{From: ancestor, To: ancestor.ID}, "")
		expect(true, "it dials")
		gone("it dials no longer")
		for range 10 {
			_ = n.gossip.compatible(ancestor)
			expect(false, "gossip of a process that does not answer")
		}
		dialed.with(peer.ErrOtherCluster)
		_ = n.gossip.compatible(ancestor)
		expect(true, "it is dialed")
		<-time.After(2 * lifeKept)
		expect(true, "it still answers")
		dialed.relation = Same
		dialed.with(nil)
		gone("a member of this cluster has its address")
		dials := dialed.met.Load()
		_ = n.gossip.compatible(ancestor)
		<-time.After(2 * livesEvery)
		if left := n.gossip.heard.dialable(); left != 0 || dialed.met.Load() > dials+1 {
			t.Errorf("%d claims are dialed, %d times", left, dialed.met.Load()-dials)
		}
		for range 2 * maxClaims {
			_ = n.gossip.compatible(someMeta())
		}
		if kept := len(n.gossip.heard.claims); kept > maxClaims {
			t.Errorf("%d claims are kept", kept)
		}
	})
}

// The members of the backup are looked for: often while windows are fenced, and seldom later. An older program refuses this
// node because their clusters differ, which shows that it runs.
func TestOldMembersAreSought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const fenced = 5 * time.Minute
		old := OldMember{ID: uuid.NewString(), Name: "old", RaftAddress: "old:1"}
		n, dialed := meetingLives(t, Lives{
			Ancestors: []string{uuid.NewString()}, OldMembers: []OldMember{old, {ID: uuid.NewString(), RaftAddress: "h:1"}}, // h:1 is this node's
			FencedMs: time.Now().Add(fenced).UnixMilli(),
		})
		ctx, cancel := context.WithCancel(n.ctx)
		n.ctx = ctx
		defer cancel()
		go n.meetLives()
		<-time.After(fenced)
		often := dialed.met.Swap(0)
		<-time.After(fenced)
		if seldom := dialed.met.Load(); often < 55 || often > 65 || seldom < 4 || seldom > 6 {
			t.Errorf("dialed %d times while windows are fenced, %d times later", often, seldom)
		}
		if heard := n.OldLife(); heard.Member != "" {
			t.Errorf("OldLife() = %+v", heard)
		}
		dialed.with(peer.ErrOtherCluster)
		<-time.After(time.Minute + livesEvery)
		if heard := n.OldLife(); heard.Relation != Older || !strings.Contains(heard.Member, "old at old:1") {
			t.Errorf("OldLife() = %+v", heard)
		}
		for range 2 * time.Minute / livesEvery {
			if <-time.After(livesEvery); n.OldLife().Member == "" {
				t.Fatal("an old member that answers is dialed seldom")
			}
		}
		dialed.with(errors.New("connection refused"))
		<-time.After(time.Minute)
		n.hearID(uuid.NewString(), "192.0.2.1")
		if heard := n.OldLife(); heard.Member != "" {
			t.Errorf("a stranger is heard: %+v", heard)
		}
		n.hearID(old.ID, "192.0.2.1") // proved by its certificate
		if heard := n.OldLife(); heard.Relation != Older || !strings.Contains(heard.Member, "old at 192.0.2.1") {
			t.Errorf("OldLife() = %+v", heard)
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
	n.shareLives(false)
	if heard := n.OldLife(); heard.Member != "" || len(n.gossip.unmet()) != 1 {
		t.Errorf("gossip is believed: %+v", heard)
	}
	n.gossip.met(p.meta, p.meta.Raft)
	n.shareLives(false)
	if heard := n.OldLife(); !strings.Contains(heard.Member, p.meta.Name) {
		t.Errorf("OldLife() = %+v, want the name %q in it", heard, p.meta.Name)
	}
	if n.meta().Hears {
		t.Error("meta().Hears = true for an ancestor that only another member heard")
	}
	says := func(m peer.Meta, hears bool) {
		m.Hears = hears
		n.gossip.met(m, m.Raft)
		n.shareLives(false)
	}
	says(p.meta, false)
	if heard := n.OldLife(); heard.Member != "" {
		t.Errorf("OldLife() = %+v after the member hears it no more", heard)
	}
	says(p.meta, true)
	says(startedAgain(p.meta), false)
	if n.OldLife().Member == "" {
		t.Error("the next process of the member, which heard nothing yet, ends the report of the process before")
	}
}
