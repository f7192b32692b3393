package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/events"
)

const (
	// lifeKept is the time for which another life counts as heard: longer than the interval at which members contact lost
	// members.
	lifeKept = 30 * time.Second
	// maxClaims bounds the claims that are checked.
	maxClaims = 32
	// livesEvery is the interval at which nodes of other lives are dialed again; livesPause is the least time between two
	// rounds.
	livesEvery = 5 * time.Second
	livesPause = time.Second
	// seldom is the number of rounds from one search for the old members to the next, once nothing is fenced.
	seldom = 12
)

// HeardLife is another life of the cluster that was heard.
type HeardLife struct {
	Relation Relation
	Cluster  string // empty if only another member of this cluster heard it
	Member   string // description of its member; empty if none was heard
}

// heardLives remembers the nodes of other lives, which may hold windows that this cluster could grant. Gossip and greetings are
// only claims, because a recorded datagram can be replayed. A life counts as heard when a node of an ancestor dials this node, or
// when an exchange shows the relation.
type heardLives struct {
	lives   func() Lives
	claimed chan struct{} // capacity 1; signals a new claim

	mu     sync.Mutex
	claims map[string]claim       // keyed by address
	own    map[Relation]heardLife // heard by this node
	other  heardLife              // heard by another member, which announces that in gossip
	by     string                 // meta.Process of the other member
}

// claim is a node that may belong to another life.
type claim struct {
	id, address string
	name        string
	ancestor    string // ID of the ancestor that the node claims to be of; empty if unknown
	idle        int64  // the node was found to be of no other life, and is not dialed before; scale of clock.Reading.Mono
}

type heardLife struct {
	HeardLife
	last int64 // time of the last contact; same scale as clock.Reading.Mono
}

func newHeardLives(lives func() Lives) heardLives {
	if lives == nil {
		lives = func() Lives { return Lives{} }
	}
	return heardLives{lives: lives, claimed: make(chan struct{}, 1), claims: make(map[string]claim), own: make(map[Relation]heardLife)}
}

// claimNode records the claim of a node in another cluster.
func (g *gossip) claimNode(m peer.Meta) {
	if m.Cluster == "" || m.Cluster == g.self().Cluster {
		return
	}
	c := claim{id: m.ID, address: m.Raft, name: m.Name}
	if slices.Contains(g.heard.lives().Ancestors, m.Cluster) {
		c.ancestor = m.Cluster
	}
	g.claimLife(c)
}

func (g *gossip) claimLife(c claim) {
	own := g.self()
	if own.Cluster == "" || c.address == own.Raft {
		return
	}
	h := &g.heard
	h.mu.Lock()
	known, ok := h.claims[c.address]
	fresh := !ok && len(h.claims) < maxClaims
	if fresh || ok && known.idle == 0 && known.ancestor == "" {
		h.claims[c.address] = c
	}
	h.mu.Unlock()
	if fresh {
		notify(h.claimed)
	}
}

// hearNode records a node of an ancestor that dialed this node.
func (g *gossip) hearNode(m peer.Meta) {
	if slices.Contains(g.heard.lives().Ancestors, m.Cluster) {
		g.hearLife(HeardLife{Relation: Older, Cluster: m.Cluster, Member: describeLife(m.Name, m.Raft, m.Cluster)})
	}
	g.claimNode(m)
}

// hearID records a node that proved with its certificate that it is a member of the cluster before this one. An older program
// hangs up when it finds another member at an address, and says nothing more.
func (n *Node) hearID(id, host string) {
	known := n.lives()
	for _, m := range known.OldMembers {
		if m.ID == id {
			cluster := known.Ancestors[len(known.Ancestors)-1]
			n.gossip.hearLife(HeardLife{Relation: Older, Cluster: cluster, Member: describeLife(cmp.Or(m.Name, m.ID), host, cluster)})
			return
		}
	}
}

func (g *gossip) hearLife(l HeardLife) {
	now := g.watch.Now().Mono
	g.heard.mu.Lock()
	defer g.heard.mu.Unlock()
	g.heard.own[l.Relation] = heardLife{l, now}
}

// fresh reports whether the life was heard within lifeKept.
func (h heardLife) fresh(mono int64) bool {
	return h.Member != "" && mono-h.last <= lifeKept.Milliseconds()
}

// meetLives dials the claimed nodes, and the old members as long as the state demands it.
func (n *Node) meetLives() {
	if n.meeter == nil {
		return
	}
	h := &n.gossip.heard
	for round := 0; ; round++ {
		var wg sync.WaitGroup
		for _, c := range n.toMeet(round) {
			wg.Go(func() { n.meetLife(c) })
		}
		wg.Wait()
		n.noteYounger()
		if !n.pause(time.After(livesPause), nil) || !n.pause(time.After(livesEvery-livesPause), h.claimed) {
			return
		}
	}
}

// pause waits for one of two events. It returns false if the node closes.
func (n *Node) pause(a <-chan time.Time, b <-chan struct{}) bool {
	select {
	case <-a:
	case <-b:
	case <-n.ctx.Done():
	}
	return n.ctx.Err() == nil
}

// toMeet returns the nodes to dial in a round.
func (n *Node) toMeet(round int) []claim {
	if n.id.Cluster() == "" {
		return nil
	}
	h, now := &n.gossip.heard, n.cfg.Watch.Now()
	h.mu.Lock()
	maps.DeleteFunc(h.claims, func(_ string, c claim) bool { return c.idle != 0 && now.Mono > c.idle })
	claims := maps.Clone(h.claims)
	h.mu.Unlock()
	maps.DeleteFunc(claims, func(_ string, c claim) bool { return c.idle != 0 })
	known := n.lives()
	if now.Wall < known.FencedMs || round%seldom == 0 {
		for _, m := range known.OldMembers {
			if _, claimed := claims[m.RaftAddress]; !claimed && m.RaftAddress != n.cfg.RaftAddress {
				claims[m.RaftAddress] = claim{id: m.ID, address: m.RaftAddress, name: cmp.Or(m.Name, m.ID), ancestor: known.Ancestors[len(known.Ancestors)-1]}
			}
		}
	}
	return slices.Collect(maps.Values(claims))
}

func (n *Node) meetLife(c claim) {
	relation, err := n.meeter.MeetLife(n.ctx, c.id, c.address)
	h := &n.gossip.heard
	switch {
	case errors.Is(err, peer.ErrOtherCluster) && c.ancestor != "":
		n.gossip.hearLife(HeardLife{Relation: Older, Cluster: c.ancestor, Member: describeLife(c.name, c.address, c.ancestor)})
		n.gossip.claimLife(c) // an old member is dialed seldom, unless it is there
		return
	case err == nil && relation != Unrelated && relation != Same:
		n.gossip.claimLife(c)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch known, claimed := h.claims[c.address]; {
	case !claimed:
	case err == nil: // this cluster, or one without a common ancestor
		known.idle = n.cfg.Watch.Now().Mono + lifeKept.Milliseconds()
		h.claims[c.address] = known
	default:
		delete(h.claims, c.address)
	}
}

// noteYounger records once that a younger cluster runs.
func (n *Node) noteYounger() {
	younger, before := n.YoungerLife(), n.younger
	if n.younger = younger.Cluster; n.younger == "" || n.younger == before {
		return
	}
	n.logger.Warn("cluster that was restored from a backup of this one runs; stop one of the two", "peer", younger.Member)
	n.cfg.Events.Note(events.Process, slog.LevelWarn, "a cluster that was restored from a backup of this one runs: "+younger.Member+"; stop one of the two")
}

// hears reports whether this node itself heard a life within lifeKept for which this cluster stops.
func (g *gossip) hears() bool { return g.heardOf(Older, Sibling).Member != "" }

// heardOf returns the first of these relations that this node itself heard within lifeKept.
func (g *gossip) heardOf(relations ...Relation) HeardLife {
	now := g.watch.Now().Mono
	g.heard.mu.Lock()
	defer g.heard.mu.Unlock()
	for _, r := range relations {
		if h := g.heard.own[r]; h.fresh(now) {
			return h.HeardLife
		}
	}
	return HeardLife{}
}

// shareLives announces whether this node hears another life, if that differs from its last announcement. It also records the
// announcements of the other members. An announcement of a failed process counts for lifeKept.
func (n *Node) shareLives(announced bool) (hears bool) {
	if hears = n.gossip.hears(); hears != announced {
		n.gossip.announce()
	}
	var heard heardLife
	var by string
	silent := make(map[string]bool)
	for _, p := range n.gossip.all() {
		switch member, _ := n.standing(p.meta.ID); {
		case !member || !p.alive:
		case p.met.Hears:
			by = p.met.Process
			heard = heardLife{HeardLife{Relation: Older, Member: fmt.Sprintf("one that member %s hears", cmp.Or(p.met.Name, p.met.ID))}, n.gossip.watch.Now().Mono}
		default:
			silent[p.met.Process] = true
		}
	}
	h := &n.gossip.heard
	h.mu.Lock()
	defer h.mu.Unlock()
	if by != "" || silent[h.by] { // a member announces for 30 s what it heard, so its silence is the end
		h.other, h.by = heard, by
	}
	return hears
}

// OldLife returns the older cluster, or the sibling, that this node or a member of its cluster heard in the last 30 s. This
// cluster must issue nothing meanwhile.
func (n *Node) OldLife() HeardLife {
	if l := n.gossip.heardOf(Older, Sibling); l.Member != "" {
		return l
	}
	now := n.gossip.watch.Now().Mono
	n.gossip.heard.mu.Lock()
	defer n.gossip.heard.mu.Unlock()
	if n.gossip.heard.other.fresh(now) {
		return n.gossip.heard.other.HeardLife
	}
	return HeardLife{}
}

// YoungerLife returns a cluster that was restored from a backup of this one, if this node heard it in the last 30 s.
func (n *Node) YoungerLife() HeardLife { return n.gossip.heardOf(Younger) }
