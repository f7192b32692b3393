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
	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// answering is a Greeter whose nodes give a fixed answer.
type answering struct{ answer atomic.Pointer[error] }

func (a *answering) Greet(raft.ServerID, raft.ServerAddress) error { return *a.answer.Load() }

func (a *answering) with(err error) { a.answer.Store(&err) }

// meeting is a lives.Dialer whose nodes give a fixed answer.
type meeting struct {
	answering
	relation lives.Relation
	met      atomic.Int64
}

func (m *meeting) MeetLife(context.Context, string, string) (lives.Relation, error) {
	m.met.Add(1)
	return m.relation, *m.answer.Load()
}

// gossips gives a node a claim of gossip about another node.
func (n *Node) gossips(m peer.Meta) {
	_ = n.gossip.NotifyAlive(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()})
}

// meetingLives returns a node that dials the nodes of other lives.
func meetingLives(t *testing.T, known lives.Lives) (*Node, *meeting) {
	t.Helper()
	n, dialed := ofCluster(t), new(meeting)
	dialed.with(errors.New("connection refused"))
	n.livesDialer, n.cfg.Events = dialed, eventsOf(n.cfg)
	var cancel context.CancelFunc
	n.ctx, cancel = context.WithCancel(t.Context())
	t.Cleanup(cancel)
	n.cfg.Watch = clock.NewWatch(clock.System(), nil, clock.Limits{})
	n.cfg.Lives = func() lives.Lives { return known }
	n.gossip = gossip.New(n.gossipConfig(), n.meta, func(string) (bool, bool) { return false, false }, n.foreign)
	n.lives = n.gossip.Lives
	return n, dialed
}

const (
	// round is longer than the time between two rounds in which other lives are dialed.
	round = 7 * time.Second
	// lifeHeard is the time for which another life counts as heard.
	lifeHeard = 30 * time.Second
)

// A process of an ancestor counts as heard while it dials this node, or while it answers a dial as a node in another cluster.
// A claim of gossip alone does not count, because a recorded datagram can be replayed.
func TestAncestorIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ancestor := clusterkit.NewMeta()
		n, dialed := meetingLives(t, lives.Lives{Ancestors: []string{uuid.NewString(), ancestor.Cluster}})
		ctx, cancel := context.WithCancel(n.ctx)
		n.ctx = ctx
		defer cancel()
		go n.observeLives()
		expect := func(want bool, when string) {
			t.Helper()
			<-time.After(round)
			heard := n.OldLife()
			if (heard.Member != "") != want || n.meta().Hears != want || strings.Contains(heard.Member, ancestor.Raft) != want {
				t.Errorf("%s: OldLife() = %+v, want one: %t", when, heard, want)
			}
			if want && (heard.Relation != lives.Older || heard.Cluster != ancestor.Cluster) {
				t.Errorf("%s: OldLife() = %+v", when, heard)
			}
		}
		gone := func(when string) {
			t.Helper()
			<-time.After(lifeHeard)
			expect(false, when)
		}
		expect(false, "at first")
		n.gossips(clusterkit.NewMeta())
		n.judgeGreeting(transport.Greeting{From: clusterkit.NewMeta(), To: n.ID()}, "")
		dialed.with(peer.ErrOtherCluster)
		expect(false, "after members in other clusters")
		dialed.with(errors.New("connection refused"))
		n.judgeGreeting(transport.Greeting{From: ancestor, To: ancestor.ID}, "")
		expect(true, "it dials")
		gone("it dials no longer")
		for range 10 {
			n.gossips(ancestor)
			expect(false, "gossip of a process that does not answer")
		}
		dialed.with(peer.ErrOtherCluster)
		n.gossips(ancestor)
		expect(true, "it is dialed")
		<-time.After(2 * lifeHeard)
		expect(true, "it still answers")
		dialed.relation = lives.Same
		dialed.with(nil)
		gone("a member of this cluster has its address")
	})
}

// An ancestor that another member hears counts too, once that member itself has reported it. This node does not announce such a
// report, so that the report expires.
func TestAncestorHeardByAnotherMember(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	n.gossip.RecordConfirmed(p.Claim, p.Claim.Raft)
	p.Claim.Hears = true
	n.gossip.RecordClaim(p.Claim, true)
	n.shareLives(false)
	if heard := n.OldLife(); heard.Member != "" || len(n.gossip.UnconfirmedClaims()) != 1 {
		t.Errorf("gossip is believed: %+v", heard)
	}
	n.gossip.RecordConfirmed(p.Claim, p.Claim.Raft)
	n.shareLives(false)
	if heard := n.OldLife(); !strings.Contains(heard.Member, p.Claim.Name) {
		t.Errorf("OldLife() = %+v, want the name %q in it", heard, p.Claim.Name)
	}
	if n.meta().Hears {
		t.Error("meta().Hears = true for an ancestor that only another member heard")
	}
	says := func(m peer.Meta, hears bool) {
		m.Hears = hears
		n.gossip.RecordConfirmed(m, m.Raft)
		n.shareLives(false)
	}
	says(p.Claim, false)
	if heard := n.OldLife(); heard.Member != "" {
		t.Errorf("OldLife() = %+v after the member hears it no more", heard)
	}
	says(p.Claim, true)
	says(clusterkit.Restarted(p.Claim), false)
	if n.OldLife().Member == "" {
		t.Error("the next process of the member, which heard nothing yet, ends the report of the process before")
	}
}
