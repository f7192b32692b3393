package lives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// heardFor is the time for which another life counts as heard: longer than the interval at which members contact lost
	// members.
	heardFor = 30 * time.Second
	// maxClaims bounds the claims that are checked.
	maxClaims = 32
	// interval is the time between two rounds of dials; pause is the least time between them after a new claim.
	interval = 5 * time.Second
	pause    = time.Second
	// rarely is the number of rounds from one search for the old members to the next, once nothing is fenced.
	rarely = 12
)

// Life is another life of the cluster that was heard.
type Life struct {
	Relation Relation
	Cluster  string // empty if only another member of this cluster heard it
	Member   string // description of its member; empty if none was heard
}

// Dialer exchanges messages with nodes of other lives. A simulated Transport may implement it.
type Dialer interface {
	// MeetLife exchanges messages with the member at a Raft address, or with the member of that ID if the cluster has no
	// secret. It returns the relation of the other cluster, or peer.ErrOtherCluster if an older program refuses this node as one
	// of another cluster.
	MeetLife(ctx context.Context, id, address string) (Relation, error)
}

// Observer remembers the nodes of other lives, which may hold windows that this cluster could grant. Gossip and greetings are
// only claims, because a recorded datagram can be replayed. A life counts as heard when a node of an ancestor dials this node, or
// when an exchange shows the relation.
type Observer struct {
	self    func() peer.Meta
	known   func() Lives
	watch   *clock.Watch
	claimed chan struct{} // capacity 1; signals a new claim

	mu       sync.Mutex
	claims   map[string]Claim // keyed by address
	own      map[Relation]heard
	reported heard  // heard by another member, which announces that in gossip
	by       string // process of the other member
}

// Claim is a node that may belong to another life.
type Claim struct {
	ID, Address string
	Name        string
	Ancestor    string // ID of the ancestor that the node claims to be of; empty if unknown

	idle int64 // the node was found to be of no other life, and is not dialed before; scale of clock.Reading.Mono
}

// heard is a life that this node itself heard.
type heard struct {
	Life
	at int64 // time of the last contact; same scale as clock.Reading.Mono
}

// lasts reports whether the life was heard within heardFor.
func (h heard) lasts(mono int64) bool {
	return h.Member != "" && mono-h.at <= heardFor.Milliseconds()
}

// NewObserver returns the observer of a node with the metadata of self. known returns the knowledge in the state; nil: none.
func NewObserver(self func() peer.Meta, known func() Lives, watch *clock.Watch) *Observer {
	if known == nil {
		known = func() Lives { return Lives{} }
	}
	return &Observer{
		self: self, known: known, watch: watch,
		claimed: make(chan struct{}, 1), claims: make(map[string]Claim), own: make(map[Relation]heard),
	}
}

// Known returns the knowledge in the state about other lives.
func (o *Observer) Known() Lives { return o.known() }

// ClaimNode records the claim of a node to be in another cluster.
func (o *Observer) ClaimNode(m peer.Meta) {
	if m.Cluster == "" || m.Cluster == o.self().Cluster {
		return
	}
	c := Claim{ID: m.ID, Address: m.Raft, Name: m.Name}
	if slices.Contains(o.known().Ancestors, m.Cluster) {
		c.Ancestor = m.Cluster
	}
	o.Claim(c)
}

// Claim records a node that may belong to another life.
func (o *Observer) Claim(c Claim) {
	own := o.self()
	if own.Cluster == "" || c.Address == own.Raft {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known, ok := o.claims[c.Address]
	fresh := !ok && len(o.claims) < maxClaims
	if fresh || ok && known.idle == 0 && known.Ancestor == "" {
		o.claims[c.Address] = c
	}
	if fresh {
		select {
		case o.claimed <- struct{}{}:
		default:
		}
	}
}

// HearNode records a node that dialed this node.
func (o *Observer) HearNode(m peer.Meta) {
	if slices.Contains(o.known().Ancestors, m.Cluster) {
		o.hear(Older, m.Cluster, m.Name, m.Raft)
	}
	o.ClaimNode(m)
}

// HearID records a node that proved with its certificate that it is a member of the cluster before this one. An older program
// hangs up when it finds another member at an address, and says nothing more.
func (o *Observer) HearID(id, host string) {
	known := o.known()
	for _, m := range known.OldMembers {
		if m.ID == id {
			o.hear(Older, known.parent(), cmp.Or(m.Name, m.ID), host)
			return
		}
	}
}

// hear records that a member of another life was heard.
func (o *Observer) hear(relation Relation, cluster, name, address string) {
	now := o.watch.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.own[relation] = heard{Life{Relation: relation, Cluster: cluster, Member: fmt.Sprintf("%s at %s of cluster %s", name, address, cluster)}, now}
}

// Learn records the message of a node, which was checked, and returns the relation of the node's cluster to this one.
func (o *Observer) Learn(from peer.Meta, theirs Message) Relation {
	relation := relationOf(Message{Cluster: o.self().Cluster, Ancestors: o.known().Ancestors}, theirs)
	if relation == Unrelated || relation == Same {
		return relation
	}
	o.hear(relation, theirs.Cluster, from.Name, from.Raft)
	o.ClaimNode(from)
	for _, address := range append([]string{theirs.Leader}, theirs.Members...) {
		if id := peer.NodeID(address); id != "" {
			o.Claim(Claim{ID: id, Address: peer.HostPort(raft.ServerAddress(address))})
		}
	}
	return relation
}

// Run dials the claimed nodes, and the old members as long as the state demands it, until ctx ends. It calls afterRound after
// each round.
func (o *Observer) Run(ctx context.Context, dialer Dialer, afterRound func()) {
	for round := 0; ctx.Err() == nil; round++ {
		var all sync.WaitGroup
		for _, c := range o.due(round) {
			all.Go(func() { o.dial(ctx, dialer, c) })
		}
		all.Wait()
		afterRound()
		rest(ctx, pause, nil)
		rest(ctx, interval-pause, o.claimed)
	}
}

// rest waits for d, for early, or for the end of ctx.
func rest(ctx context.Context, d time.Duration, early <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-early:
	case <-ctx.Done():
	}
}

// due returns the nodes to dial in a round.
func (o *Observer) due(round int) []Claim {
	own := o.self()
	if own.Cluster == "" {
		return nil
	}
	now := o.watch.Now()
	o.mu.Lock()
	maps.DeleteFunc(o.claims, func(_ string, c Claim) bool { return c.idle != 0 && now.Mono > c.idle })
	claims := maps.Clone(o.claims)
	o.mu.Unlock()
	maps.DeleteFunc(claims, func(_ string, c Claim) bool { return c.idle != 0 })
	known := o.known()
	if now.Wall < known.FencedMs || round%rarely == 0 {
		for _, m := range known.OldMembers {
			if _, claimed := claims[m.RaftAddress]; !claimed && m.RaftAddress != own.Raft {
				claims[m.RaftAddress] = Claim{ID: m.ID, Address: m.RaftAddress, Name: cmp.Or(m.Name, m.ID), Ancestor: known.parent()}
			}
		}
	}
	return slices.Collect(maps.Values(claims))
}

// dial exchanges messages with a claimed node, and records the outcome.
func (o *Observer) dial(ctx context.Context, dialer Dialer, c Claim) {
	relation, err := dialer.MeetLife(ctx, c.ID, c.Address)
	switch {
	case errors.Is(err, peer.ErrOtherCluster) && c.Ancestor != "":
		o.hear(Older, c.Ancestor, c.Name, c.Address)
		o.Claim(c) // an old member is dialed rarely, unless it is there
		return
	case err == nil && relation != Unrelated && relation != Same:
		o.Claim(c)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch known, claimed := o.claims[c.Address]; {
	case !claimed:
	case err == nil: // this cluster, or one without a common ancestor
		known.idle = o.watch.Now().Mono + heardFor.Milliseconds()
		o.claims[c.Address] = known
	default:
		delete(o.claims, c.Address)
	}
}

// Hears reports whether this node itself heard a life within heardFor for which this cluster stops.
func (o *Observer) Hears() bool { return o.last(Older, Sibling).Member != "" }

// last returns the first of these relations that this node itself heard within heardFor.
func (o *Observer) last(relations ...Relation) Life {
	now := o.watch.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range relations {
		if h := o.own[r]; h.lasts(now) {
			return h.Life
		}
	}
	return Life{}
}

// Report records what the other live members of this cluster announce, given the metadata that each sent itself. The announcement
// of a failed process counts for heardFor.
func (o *Observer) Report(members []peer.Meta) {
	var report heard
	var by string
	quiet := make(map[string]bool)
	for _, m := range members {
		if m.Hears {
			by = m.Process
			report = heard{Life{Relation: Older, Member: fmt.Sprintf("one that member %s hears", cmp.Or(m.Name, m.ID))}, o.watch.Now().Mono}
		} else {
			quiet[m.Process] = true
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if by != "" || quiet[o.by] { // a member announces for 30 s what it heard, so the absence of its report is the end
		o.reported, o.by = report, by
	}
}

// Old returns the older cluster, or the sibling, that this node or a member of its cluster heard in the last 30 s. This cluster
// must issue nothing meanwhile.
func (o *Observer) Old() Life {
	if l := o.last(Older, Sibling); l.Member != "" {
		return l
	}
	now := o.watch.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reported.lasts(now) {
		return o.reported.Life
	}
	return Life{}
}

// Younger returns a cluster that was restored from a backup of this one, if this node heard it in the last 30 s.
func (o *Observer) Younger() Life { return o.last(Younger) }
