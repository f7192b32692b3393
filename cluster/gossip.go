package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/trust"
)

const (
	// maxPeers bounds the number of nodes that are remembered from gossip.
	maxPeers = 1000
	// nameKept is the least time for which memberlist keeps a dead node. After that, the next round of probes forgets the
	// node; a round takes one probe interval for each live node.
	nameKept = 30 * time.Second
	// gossipTimeout bounds an exchange over a gossip stream.
	gossipTimeout = 2 * time.Second
)

// gossipLabel separates this gossip from that of other programs that use memberlist.
const gossipLabel = "snowraft/1"

// gossip is this node's view of the other nodes: which nodes exist, their addresses and their clocks. It learns of all nodes
// and makes no decisions.
type gossip struct {
	list   *memberlist.Memberlist // nil until open
	screen *screened              // nil until open
	watch  *clock.Watch
	logger *slog.Logger
	keys   *trust.Keys // nil in an open cluster
	self   func() peer.Meta
	began  int64 // start of this node, Unix ms
	// interval is the usual time between two questions for the same clock.
	interval time.Duration

	standing func(id string) (member, voter bool) // standing in the Raft configuration
	foreign  *foreign
	lives    *lives.Observer
	probes   probes
	// roundTrip receives the round-trip time of a datagram to a member; may be nil.
	roundTrip func(member string, took time.Duration)
	// refusals handle a leader's message that it does not add this node, by the kind of message.
	refusals map[byte]func(said []byte)

	announcing chan struct{} // capacity 1; memberlist's UpdateNode must not run twice at a time, and may take 1 s

	mu         sync.Mutex
	peers      map[string]peerInfo  // keyed by node ID; without this node
	recorded   map[string]peer.Meta // metadata that memberlist has, keyed by name; memberlist's own records may only be read under its lock
	introduced map[string]bool      // names for which first was called
	contacting []string             // addresses of the gossip port that is being contacted
	veto       error                // reason of the last refused join
	asked      map[uint64]clockAsked
	farewell   time.Duration // bound on the announcement of the departure
	// members and strangers are bounded separately, so that strangers leave room for members. Each start of a member has
	// another name.
	members, strangers *roster

	changed chan struct{} // capacity 1; signals that a node came, went or changed
	claims  chan struct{} // capacity 1; signals that there may be a claim to check, see unmet
}

func newGossip(cfg *Config, self func() peer.Meta, standing func(string) (member, voter bool), foreign *foreign) *gossip {
	after := nameKept + 2*maxPeers*cfg.Timing.GossipProbe
	return &gossip{
		began: cfg.Watch.Now().Wall, interval: min(time.Second, cfg.Timing.GossipProbe), roundTrip: cfg.Meter.RoundTrip,
		watch: cfg.Watch, logger: cfg.Logger, keys: cfg.Keys, foreign: foreign, announcing: make(chan struct{}, 1), self: self, lives: lives.NewObserver(self, cfg.Lives, cfg.Watch), standing: standing,
		peers: make(map[string]peerInfo), recorded: make(map[string]peer.Meta), introduced: make(map[string]bool),
		changed: make(chan struct{}, 1), claims: make(chan struct{}, 1),
		members: newRoster(maxPeers, after), strangers: newRoster(maxPeers, after),
	}
}

// open starts the gossip. Until then, this node knows only the nodes that dial it.
func (g *gossip) open(cfg *Config) error {
	mc := memberlist.DefaultLANConfig()
	mc.Name = g.self().GossipName()
	mc.Label = gossipLabel
	g.screen = newScreened(cfg.Gossip, newKeyring(cfg.Keys), g.misheard, cfg.Logger)
	g.screen.undialed = g.undialed
	mc.Transport = g.screen
	mc.GossipToTheDeadTime = nameKept
	mc.TCPTimeout = gossipTimeout
	mc.AdvertiseAddr = cfg.GossipHost
	mc.AdvertisePort = cfg.GossipPort
	mc.BindPort = cfg.GossipPort // memberlist's default port of a seed without a port
	mc.ProbeInterval = cfg.Timing.GossipProbe
	mc.ProbeTimeout = cfg.Timing.GossipProbe / 2
	g.farewell = min(time.Second, cfg.Timing.GossipProbe)
	mc.GossipInterval = g.farewell / 5
	mc.EnableCompression = false // the messages are small; see screen.Packet
	mc.LogOutput = nil
	mc.Logger = logging.Standard(cfg.Logger, "gossip", g.nameOf)
	mc.Delegate = g
	mc.Events = g
	mc.Alive = g
	mc.Merge = g
	list, err := memberlist.Create(mc)
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	g.mu.Lock()
	g.list = list // memberlist already delivers messages
	g.mu.Unlock()
	return nil
}

// join contacts another member. Errors: ErrOtherCluster, ErrMemberUnreachable, or an error of peer.Misunderstanding. A node that
// hears no other node does not know with which of its secrets the others encrypt, so it tries one secret after another.
func (g *gossip) join(addr string) error {
	err := g.contact(addr)
	if g.keys == nil || !errors.Is(err, peer.ErrOtherSecret) || g.list.NumMembers() > 1 {
		return err
	}
	first := g.keys.Signing().Fingerprint()
	for _, fingerprint := range g.keys.Fingerprints() {
		if fingerprint == first || !g.keys.Sign(fingerprint) {
			continue
		}
		if err := g.contact(addr); !errors.Is(err, peer.ErrOtherSecret) {
			return err
		}
	}
	g.keys.Sign(first)
	return err
}

// misheard records the error of a message that this node could not read. If the message was an answer, the current join
// returns that error.
func (g *gossip) misheard(from net.Addr, err error, answer bool) {
	g.foreign.note(from, err)
	if problem := peer.Misunderstanding(err); problem != nil && answer {
		g.mu.Lock()
		g.veto = problem
		g.mu.Unlock()
	}
}

func (g *gossip) contact(addr string) error {
	addresses := spellings(addr)
	g.mu.Lock()
	g.veto, g.contacting = nil, addresses
	g.mu.Unlock()
	_, err := g.list.Join([]string{addr})
	if err == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.veto != nil {
		return g.veto
	}
	return fmt.Errorf("%w: %s", peer.ErrUnreachable, peer.Reason(err))
}

// announce sends the changed metadata to the other nodes. The next exchange of states makes up for a failure.
func (g *gossip) announce() {
	if g.list == nil {
		return
	}
	g.announcing <- struct{}{}
	defer func() { <-g.announcing }()
	_ = g.list.UpdateNode(time.Second)
}

func (g *gossip) signal() { notify(g.changed) }

// notify sends to a channel of capacity 1, unless it is full.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// close leaves the gossip and stops it. The node stays a member of its cluster.
func (g *gossip) close() error {
	if err := g.list.Leave(g.farewell); err != nil {
		// The other nodes notice the departure a little later.
		g.logger.Debug("departure not announced", "error", err)
	}
	err := g.list.Shutdown()
	g.screen.wait()
	return err
}

// compatible returns the reason for which a node cannot be a peer; nil if it can.
func (g *gossip) compatible(m peer.Meta) error {
	own := g.self().Cluster
	if own != "" && m.Cluster != "" && own != m.Cluster {
		g.lives.ClaimNode(m)
		return &OtherClusterError{id: m.ID, Name: m.Name, Address: m.Raft, Theirs: m.Cluster, Ours: own}
	}
	return nil
}

// judge decodes and checks a peer's metadata. It logs a refusal once for each peer.
func (g *gossip) judge(n *memberlist.Node) (peer.Meta, error) {
	m, err := peer.DecodeMeta(n.Meta)
	if err == nil {
		err = g.compatible(m)
	}
	if err != nil {
		first := g.first(n.Name)
		g.mu.Lock()
		if p, ok := g.peers[m.ID]; ok && p.meta.Process == m.Process {
			delete(g.peers, m.ID) // first heard before it joined the other cluster
		}
		g.mu.Unlock()
		if first {
			g.logger.Warn("gossip peer rejected", "address", n.Address(), "error", err)
		}
	}
	return m, err
}

// The methods below implement memberlist's delegates; memberlist calls them from its own goroutines.

// NodeMeta implements memberlist.Delegate.
func (g *gossip) NodeMeta(limit int) []byte {
	raw := g.self().Encode()
	if len(raw) > limit {
		return nil // Open checked the length
	}
	return raw
}

// GetBroadcasts, LocalState and MergeRemoteState implement memberlist.Delegate.
func (g *gossip) GetBroadcasts(int, int) [][]byte { return nil }
func (g *gossip) LocalState(bool) []byte          { return nil }
func (g *gossip) MergeRemoteState([]byte, bool)   {}

// NotifyAlive implements memberlist.AliveDelegate. It refuses members of other clusters, and names beyond the bounds.
func (g *gossip) NotifyAlive(n *memberlist.Node) error {
	m, err := g.judge(n)
	if err != nil {
		return err
	}
	if n.Name != m.GossipName() {
		return fmt.Errorf("node %s is called %s", m.GossipName(), n.Name)
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	defer g.mu.Unlock()
	if member {
		return g.members.admit(n.Name, g.mono())
	}
	return g.strangers.admit(n.Name, g.mono())
}

// NotifyMerge implements memberlist.MergeDelegate: a single foreign node among nodes vetoes a join.
func (g *gossip) NotifyMerge(nodes []*memberlist.Node) (refused error) {
	for _, n := range nodes {
		if _, err := g.judge(n); err != nil {
			g.vetoed(n, err)
			refused = cmp.Or(refused, err)
		}
	}
	return refused
}

// vetoed stores the reason for which a node is refused, for the contact in progress. A reason about the contacted node takes
// precedence over reasons about other nodes.
func (g *gossip) vetoed(n *memberlist.Node, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	other, ok := errors.AsType[*OtherClusterError](err)
	if ok {
		other.seed = slices.Contains(g.contacting, n.Address())
	}
	if g.veto == nil || ok && other.seed {
		g.veto = err
	}
}

// NotifyJoin implements memberlist.EventDelegate.
func (g *gossip) NotifyJoin(n *memberlist.Node) {
	g.mu.Lock()
	g.members.joined(n.Name)
	g.strangers.joined(n.Name)
	g.mu.Unlock()
	g.NotifyUpdate(n)
}

// NotifyUpdate implements memberlist.EventDelegate.
func (g *gossip) NotifyUpdate(n *memberlist.Node) {
	m, err := g.judge(n)
	if err != nil {
		return
	}
	g.mu.Lock()
	g.recorded[n.Name] = m
	g.mu.Unlock()
	g.learn(m, true)
}

// NotifyLeave implements memberlist.EventDelegate.
func (g *gossip) NotifyLeave(n *memberlist.Node) {
	g.mu.Lock()
	g.members.left(n.Name, g.mono())
	g.strangers.left(n.Name, g.mono())
	delete(g.recorded, n.Name)
	g.mu.Unlock()
	m, err := peer.DecodeMeta(n.Meta)
	if err != nil {
		return
	}
	member, _ := g.standing(m.ID)
	g.mu.Lock()
	p, ok := g.peers[m.ID]
	ok = ok && p.meta.Process == m.Process
	switch {
	case ok && member:
		if p.met.Process != m.Process && g.heardAlive(p.met) {
			p.meta = p.met // the process that left was forged
		} else {
			g.setAlive(&p, false)
		}
		g.peers[m.ID] = p
	case ok:
		delete(g.peers, m.ID) // never became a member, or was removed
	}
	g.mu.Unlock()
	if ok {
		g.watch.ForgetPeer(m.ID)
	}
	g.signal()
}

// mono returns the reading of this process's monotonic clock.
func (g *gossip) mono() time.Duration { return time.Duration(g.watch.Now().Mono) * time.Millisecond }
