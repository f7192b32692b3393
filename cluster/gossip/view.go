package gossip

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/lines"
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

// View is this node's view of the other nodes: which nodes exist, their addresses and their clocks. It learns of all nodes
// and makes no decisions.
type View struct {
	list   *memberlist.Memberlist // nil until open
	screen *screenedTransport     // nil until open
	watch  *clock.Watch
	logger *slog.Logger
	keys   *trust.Keys // nil in an open cluster
	self   func() peer.Meta
	Began  int64 // start of this node, Unix ms
	// interval is the usual time between two questions for the same clock.
	interval time.Duration

	standing func(id string) (member, voter bool) // standing in the Raft configuration
	foreign  *Misunderstood
	Lives    *lives.Observer
	probes   probeCounters
	// roundTrip receives the round-trip time of a datagram to a member; may be nil.
	roundTrip func(member string, took time.Duration)
	// Handlers handle a leader's message that it does not add this node, by the kind of message.
	Handlers map[byte]func(said []byte)

	announcing chan struct{} // capacity 1; memberlist's UpdateNode must not run twice at a time, and may take 1 s

	mu         sync.Mutex
	peers      map[string]Peer      // keyed by node ID; without this node
	recorded   map[string]peer.Meta // metadata that memberlist has, keyed by name; memberlist's own records may only be read under its lock
	contacting []string             // addresses of the gossip port that is being contacted
	logged     lines.Once           // refusals and copies
	veto       error                // reason of the last refused join
	asked      map[uint64]clockAsked
	farewell   time.Duration // bound on the announcement of the departure
	// members and strangers are bounded separately, so that strangers leave room for members. Each start of a member has
	// another name.
	members, nonmembers *roster

	changed chan struct{} // capacity 1; signals that a node came, went or changed
	claims  chan struct{} // capacity 1; signals that there may be a claim to check, see unmet
}

// Config holds the settings of a node's gossip.
type Config struct {
	Transport memberlist.NodeAwareTransport // already bound; closed with the gossip
	Host      string                        // address at which peers reach the transport
	Port      int
	Probe     time.Duration      // see Timing.GossipProbe
	Keys      *trust.Keys        // nil in an open cluster
	Lives     func() lives.Lives // nil: none
	Watch     *clock.Watch
	Logger    *slog.Logger
	// RoundTrip receives the round-trip time of each datagram to a member, by its ID; may be nil.
	RoundTrip func(member string, took time.Duration)
}

// New returns the view of a node with the metadata of self, which is not open yet. standing returns the standing of a node in the
// Raft configuration.
func New(cfg *Config, self func() peer.Meta, standing func(string) (member, voter bool), foreign *Misunderstood) *View {
	after := nameKept + 2*maxPeers*cfg.Probe
	return &View{
		Began: cfg.Watch.Now().Wall, interval: min(time.Second, cfg.Probe), roundTrip: cfg.RoundTrip,
		watch: cfg.Watch, logger: cfg.Logger, keys: cfg.Keys, foreign: foreign, announcing: make(chan struct{}, 1), self: self, Lives: lives.NewObserver(self, cfg.Lives, cfg.Watch), standing: standing,
		peers: make(map[string]Peer), recorded: make(map[string]peer.Meta),
		changed: make(chan struct{}, 1), claims: make(chan struct{}, 1),
		members: newRoster(maxPeers, after), nonmembers: newRoster(maxPeers, after),
	}
}

// Open starts the gossip. Until then, this node knows only the nodes that dial it.
func (g *View) Open(cfg *Config) error {
	mc := memberlist.DefaultLANConfig()
	mc.Name = g.self().GossipName()
	mc.Label = gossipLabel
	g.screen = newScreenedTransport(cfg.Transport, newKeyring(cfg.Keys), g.noteUnreadable, cfg.Logger)
	g.screen.undialed = g.noteFailedDial
	mc.Transport = g.screen
	mc.GossipToTheDeadTime = nameKept
	mc.TCPTimeout = gossipTimeout
	mc.AdvertiseAddr = cfg.Host
	mc.AdvertisePort = cfg.Port
	mc.BindPort = cfg.Port // memberlist's default port of a seed without a port
	mc.ProbeInterval = cfg.Probe
	mc.ProbeTimeout = cfg.Probe / 2
	g.farewell = min(time.Second, cfg.Probe)
	mc.GossipInterval = g.farewell / 5
	mc.EnableCompression = false // the messages are small; see screen.Packet
	mc.LogOutput = nil
	mc.Logger = logging.Standard(cfg.Logger, "gossip", g.NameOf)
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

// Join contacts another member. Errors: ErrOtherCluster, ErrMemberUnreachable, or an error of peer.Misunderstanding. A node that
// hears no other node does not know with which of its secrets the others encrypt, so it tries one secret after another.
func (g *View) Join(addr string) error {
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

// noteUnreadable records the error of a message that this node could not read. If the message was an answer, the current join
// returns that error.
func (g *View) noteUnreadable(from net.Addr, err error, answer bool) {
	g.foreign.Note(from, err)
	if problem := peer.Misunderstanding(err); problem != nil && answer {
		g.mu.Lock()
		g.veto = problem
		g.mu.Unlock()
	}
}

func (g *View) contact(addr string) error {
	addresses := Spellings(addr)
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

// Announce sends the changed metadata to the other nodes. The next exchange of states makes up for a failure.
func (g *View) Announce() {
	if g.list == nil {
		return
	}
	g.announcing <- struct{}{}
	defer func() { <-g.announcing }()
	_ = g.list.UpdateNode(time.Second)
}

// Opened reports whether open succeeded.
func (g *View) Opened() bool { return g.list != nil }

// Changes returns the channel that receives after a node came, went or changed.
func (g *View) Changes() <-chan struct{} { return g.changed }

// Claimed returns the channel that receives when there may be a claim to check, see unmet.
func (g *View) Claimed() <-chan struct{} { return g.claims }

// SignalChange makes Changes receive.
func (g *View) SignalChange() { signalOnce(g.changed) }

// signalOnce sends to a channel of capacity 1, unless it is full.
func signalOnce(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Close leaves the gossip and stops it. The node stays a member of its cluster.
func (g *View) Close() error {
	if err := g.list.Leave(g.farewell); err != nil {
		// The other nodes notice the departure a little later.
		g.logger.Debug("departure not announced", "error", err)
	}
	err := g.list.Shutdown()
	g.screen.wait()
	return err
}

// checkCluster returns the reason for which a node cannot be a peer; nil if it can.
func (g *View) checkCluster(m peer.Meta) error {
	own := g.self().Cluster
	if own != "" && m.Cluster != "" && own != m.Cluster {
		g.Lives.ClaimNode(m)
		return &peer.OtherClusterError{ID: m.ID, Name: m.Name, Address: m.Raft, Theirs: m.Cluster, Ours: own}
	}
	return nil
}

// checkNode decodes and checks a peer's metadata. It logs a refusal once for each peer.
func (g *View) checkNode(n *memberlist.Node) (peer.Meta, error) {
	m, err := peer.DecodeMeta(n.Meta)
	if err == nil {
		err = g.checkCluster(m)
	}
	if err != nil {
		first := g.logged.Allow(n.Name)
		g.mu.Lock()
		if p, ok := g.peers[m.ID]; ok && p.Claim.Process == m.Process {
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

// mono returns the reading of this process's monotonic clock.
func (g *View) mono() time.Duration { return time.Duration(g.watch.Now().Mono) * time.Millisecond }
