package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// ancestorKept is the time for which a member of an ancestor counts as heard: longer than the interval at which members
// contact lost members.
const ancestorKept = 30 * time.Second

const (
	// maxAncestors bounds the claims that are checked.
	maxAncestors = 16
	// ancestorsEvery is the interval at which processes that were heard are dialed again; ancestorsPause is the least time
	// between two rounds.
	ancestorsEvery = 5 * time.Second
	ancestorsPause = time.Second
)

// ancestry remembers the live processes of clusters that this one was restored from: such a process may hold windows that
// this cluster could grant. Gossip is only a claim, because a recorded datagram can be replayed. The process counts as heard
// when it dials this node, or when this node dials it and it answers that it belongs to another cluster.
type ancestry struct {
	clusters func() []string // nil if none
	claimed  chan struct{}   // capacity 1; signals a new claim

	mu     sync.Mutex
	claims map[string]meta // keyed by node ID
	own    heardAncestor   // heard by this node
	other  heardAncestor   // heard by another member, which announces that in gossip
}

func newAncestry(clusters func() []string) ancestry {
	return ancestry{clusters: clusters, claimed: make(chan struct{}, 1), claims: make(map[string]meta)}
}

// heardAncestor is the process of an ancestor that was heard last.
type heardAncestor struct {
	member string // empty if none
	last   int64  // time of the last contact; same scale as clock.Reading.Mono
}

// claimAncestor records a claim of gossip about a node of another cluster, if that cluster is an ancestor.
func (g *gossip) claimAncestor(m meta) {
	a := &g.ancestry
	if !a.are(m.Cluster) {
		return
	}
	a.mu.Lock()
	_, known := a.claims[m.ID]
	if known || len(a.claims) < maxAncestors {
		a.claims[m.ID] = m
	}
	a.mu.Unlock()
	if !known {
		notify(a.claimed)
	}
}

// meetAncestors dials the claimed processes of ancestors, each for as long as it answers.
func (n *Node) meetAncestors() {
	if n.greeter == nil {
		return
	}
	a := &n.gossip.ancestry
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-a.claimed:
		case <-time.After(ancestorsEvery):
		}
		if n.ctx.Err() != nil { // both channels were ready
			return
		}
		a.mu.Lock()
		claims := maps.Clone(a.claims)
		a.mu.Unlock()
		var wg sync.WaitGroup
		for id, m := range claims {
			wg.Go(func() {
				if err := n.greeter.Greet(raft.ServerID(id), raft.ServerAddress(m.Raft)); errors.Is(err, ErrOtherCluster) {
					n.gossip.hearAncestor(m)
					return
				}
				a.mu.Lock()
				defer a.mu.Unlock()
				delete(a.claims, id)
			})
		}
		wg.Wait()
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(ancestorsPause):
		}
	}
}

// hearAncestor records a process that was heard on a Raft connection, if its cluster is an ancestor.
func (g *gossip) hearAncestor(m meta) {
	if m.Cluster == "" || !g.ancestry.are(m.Cluster) {
		return
	}
	g.ancestry.mu.Lock()
	defer g.ancestry.mu.Unlock()
	g.note(&g.ancestry.own, fmt.Sprintf("%s at %s of cluster %s", m.Name, m.Raft, m.Cluster))
}

// are reports whether a cluster is an ancestor.
func (a *ancestry) are(cluster string) bool {
	return a.clusters != nil && slices.Contains(a.clusters(), cluster)
}

// note records a process as heard now. Requires g.ancestry.mu held.
func (g *gossip) note(h *heardAncestor, member string) {
	h.member, h.last = member, g.watch.Now().Mono
}

// fresh reports whether the process was heard within ancestorKept.
func (h *heardAncestor) fresh(mono int64) bool {
	return h.member != "" && mono-h.last <= ancestorKept.Milliseconds()
}

// hears reports whether this node itself heard a process of an ancestor within ancestorKept.
func (g *gossip) hears() bool {
	now := g.watch.Now().Mono
	g.ancestry.mu.Lock()
	defer g.ancestry.mu.Unlock()
	return g.ancestry.own.fresh(now)
}

// shareAncestors announces whether this node hears a process of an ancestor, if that differs from its last announcement. It
// also records the announcements of the other members.
func (n *Node) shareAncestors(announced bool) (hears bool) {
	if hears = n.gossip.hears(); hears != announced {
		n.gossip.announce()
	}
	for _, p := range n.gossip.all() {
		if member, _ := n.standing(p.meta.ID); member && p.alive && p.met.Hears {
			n.gossip.ancestry.mu.Lock()
			n.gossip.note(&n.gossip.ancestry.other, "one that member "+cmp.Or(p.met.Name, p.met.ID)+" hears")
			n.gossip.ancestry.mu.Unlock()
		}
	}
	return hears
}

// AncestorHeard describes a process of a cluster that this one was restored from, if this node or a member of its cluster
// heard one in the last 30 s; empty otherwise.
func (n *Node) AncestorHeard() string {
	a, now := &n.gossip.ancestry, n.gossip.watch.Now().Mono
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range []*heardAncestor{&a.own, &a.other} {
		if h.fresh(now) {
			return h.member
		}
	}
	return ""
}
