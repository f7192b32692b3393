package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/broadcast"
	"github.com/snowraft/snowraft/internal/lines"
)

// Node is one running node. Its methods may be called from any goroutine.
//
// Its goroutines, besides those of raft and memberlist:
//
//   - follow: leadership; while leading, also lead and the goroutines that lead starts
//   - observeLeader, succession: changes of the known leader; the end of the leader's process
//   - bootstrap, report: until the node belongs to a cluster; log lines and events about the cluster
//   - runUpkeep: clock, disk, own membership
//   - rejoin, confirmClaims, observeLives: seeds and lost members; claims about members; other lives of the cluster
//   - keepWatermark: the file of the watermark
//   - greetWhileLeaderless, rotate: members while there is no leader; secrets
type Node struct {
	cfg         Config
	logger      *slog.Logger
	id          *storage.Identity
	aside       storage.Aside // keeps a node that has joined no cluster from founding one
	process     string        // see meta.Process
	store       *storage.Store
	stream      *transport.StreamLayer // nil in simulations
	network     *raft.NetworkTransport // nil in simulations
	greeter     greeter                // nil in simulations whose transport does not implement it
	lives       *lives.Observer
	livesDialer lives.Dialer          // nil like greeter
	terms       *transport.TermClient // nil in simulations
	asker       termSource
	raft        *raft.Raft
	stopped     chan struct{} // closed once raft has stopped, or does not because of its disk
	guarded     *transport.Guarded
	opened      chan struct{} // closed once raft is set
	gossip      *gossip.View
	foreign     *gossip.Misunderstood
	seeds       seeds

	notify       chan bool
	leads        atomic.Uint64             // term in which this node leads and is ready (entries of earlier terms applied); 0: none
	replicated   leadership.Replication    // acknowledgements of the followers, while leading
	answered     atomic.Value              // raft.ServerID of the voter that answered Verify last
	hedges       leadership.Verifier       // hedges of Verify
	handedOver   time.Time                 // last transfer of leadership because of the clock; while leading only
	changing     chan struct{}             // capacity 1; filled while the membership changes, see change
	fitSince     map[raft.ServerID]fitness // nonvoters that are fit to vote; while leading only
	refusedNames map[string]refusedName    // keyed by process; while leading only
	ledSince     time.Duration             // start of leading, on the monotonic clock; while leading only
	sameSince    time.Duration             // start of the wait next to a node with its name; see haveSameNames
	leader       broadcast.Signal          // sent when the known leader changes
	quorum       atomic.Pointer[string]    // meta.Quorum
	stalled      atomic.Bool               // meta.Stalled
	silent       atomic.Value              // meta.Silent
	unannounced  int                       // announcements due, see announceStall
	upkeep       atomic.Int64              // start of the last round of runUpkeep, on the monotonic clock
	leaderless   atomic.Int64              // start of the time without a known leader, on the monotonic clock; 0 if one is known
	ledFrom      atomic.Int64              // start of the time with a known leader, on the monotonic clock; 0 if none is known
	seedContacts contactOutcomes           // keyed by address
	peerContacts contactOutcomes           // keyed by node ID; during the present time without a leader
	links        transport.Links
	succession   *leadership.Succession // nil in simulations whose transport cannot check peers
	elections    leadership.Elections
	heard        atomic.Uint64 // see Heard
	proposals    proposals
	leaders      atomic.Uint64 // see LeaderChanges
	wasOpen      bool          // see WasOpen; final once Open returned

	watermark     *storage.Watermark
	lostAtStart   uint64 // entries that the log lacked at the start, see lost
	contradiction contradiction
	claims        judgements
	logged        lines.Once // lines about other members

	ctx    context.Context // ends when Close begins
	cancel context.CancelFunc
	wg     sync.WaitGroup

	failOnce sync.Once
	failed   chan struct{}
	failure  error

	closeOnce sync.Once
	closeErr  error
}

// Open starts a node, which the caller must close. cfg's listener and gossip transport are already bound, so nothing is
// written if a port is taken. The node owns both from now on, even if Open fails.
//
// Errors: those of storage.OpenIdentity and storage.Open; ErrSecured; an error that names an invalid setting.
func Open(cfg Config) (_ *Node, err error) {
	cfg.Timing, cfg.Events = cfg.Timing.withDefaults(), eventsOf(cfg)
	n := &Node{
		cfg: cfg, logger: cfg.Logger, process: peer.NewProcess(),
		notify: make(chan bool), foreign: gossip.NewMisunderstood(cfg.Logger), changing: make(chan struct{}, 1), opened: make(chan struct{}), failed: make(chan struct{}), stopped: make(chan struct{}),
		contradiction: contradiction{found: make(chan struct{})},
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, n.abandon())
		}
	}()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if n.id, err = storage.OpenIdentity(cfg.DataDir); err != nil {
		return nil, err
	}
	if s := n.id.Superseded(); s != nil {
		return nil, supersededError(s)
	}
	if n.id.Cluster() == "" {
		n.aside = storage.FindAside(cfg.DataDir)
	}
	n.restrictDataDir()
	if err := n.checkSecured(); err != nil {
		return nil, err
	}
	if size, most := len(n.meta().Encode()), peer.MaxMeta-peer.RoomForMeta; size > most {
		return nil, fmt.Errorf("name and addresses are too long: %d bytes, at most %d fit into a gossip message", size, most)
	}
	n.gossip = gossip.New(n.gossipConfig(), n.meta, n.standing, n.foreign)
	n.lives = n.gossip.Lives
	n.gossip.Handlers = map[byte]func([]byte){nameRefused: n.onNameRefused, programRefused: n.onProgramRefused}
	n.seeds = seeds{since: n.mono(), foreign: make(map[string]bool), tried: make(chan struct{})}
	if cfg.Storage != nil {
		n.store, err = storage.Guard(*cfg.Storage, n.id, n.Fail)
	} else {
		n.store, err = storage.Open(n.id, n.logger, n.Fail)
	}
	if err != nil {
		return nil, err
	}
	if n.watermark, err = storage.OpenWatermark(n.id); err != nil {
		return nil, err
	}
	if cfg.Meter.Synced != nil {
		n.store.Logs = meteredLog{n.store.Logs, cfg.Meter.Synced}
	}
	if err := n.openRaft(); err != nil {
		return nil, err
	}
	if err := n.gossip.Open(n.gossipConfig()); err != nil {
		return nil, err
	}
	n.start()
	return n, nil
}

// checkSecured refuses to start a node without a secret if the node had one at an earlier start, unless Insecure is set. A
// forgotten setting would let every process that reaches a port command the node.
func (n *Node) checkSecured() error {
	switch {
	case n.cfg.Keys != nil:
		n.wasOpen = !n.id.Secured() && n.id.Starts() > 1 && n.id.Cluster() != ""
		return n.id.Secure()
	case !n.id.Secured():
		return nil
	case !n.cfg.Insecure:
		return ErrSecured
	default:
		n.logger.Warn("secured data directory opened without a secret; every process that reaches a port can command the member", "data_dir", n.cfg.DataDir)
		return nil
	}
}

// gossipConfig returns the settings of the gossip.
func (n *Node) gossipConfig() *gossip.Config {
	c := &n.cfg
	return &gossip.Config{
		Transport: c.Gossip, Host: c.GossipHost, Port: c.GossipPort, Probe: c.Timing.GossipProbe,
		Keys: c.Keys, Lives: c.Lives, Watch: c.Watch, Logger: c.Logger, RoundTrip: c.Meter.RoundTrip,
	}
}

// restrictDataDir takes the access of other users of the host from the data directory.
func (n *Node) restrictDataDir() {
	if n.cfg.DataDir == "" {
		return
	}
	switch others, err := storage.Restrict(n.cfg.DataDir); {
	case err != nil:
		n.logger.Warn("data directory accessible to other users of this host; take their access (chmod o-rwx)", "data_dir", n.cfg.DataDir, "error", err)
	case others:
		n.logger.Warn("data directory was accessible to other users of this host; their access was taken", "data_dir", n.cfg.DataDir)
	}
}

func (n *Node) start() {
	n.upkeep.Store(n.cfg.Watch.Now().Mono)
	n.observeLeader()
	n.wg.Go(n.follow)
	n.wg.Go(n.runUpkeep)
	if n.succession != nil {
		n.wg.Go(func() { n.succession.Run(n.ctx) })
	}
	n.wg.Go(n.rejoin)
	n.wg.Go(n.confirmClaims)
	n.wg.Go(n.observeLives)
	n.wg.Go(n.rotate)
	n.wg.Go(n.bootstrap)
	n.wg.Go(n.report)
	n.wg.Go(n.greetWhileLeaderless)
	n.wg.Go(n.keepWatermark)
}

// meta returns the metadata of this node.
func (n *Node) meta() peer.Meta {
	m := peer.Meta{
		Gossip: net.JoinHostPort(n.cfg.GossipHost, strconv.Itoa(n.cfg.GossipPort)),
		ID:     n.id.Node(), Name: n.cfg.Name, Cluster: n.id.Cluster(), Starts: n.id.Starts(), Process: n.process,
		Raft: n.cfg.RaftAddress, API: n.cfg.APIAddress, HTTP: n.cfg.HTTPPort, Version: n.cfg.Version, Commands: n.cfg.Commands,
		Expect: n.cfg.BootstrapExpect, Nonvoter: n.cfg.Nonvoter, ForceName: n.cfg.ForceName,
	}
	if n.cfg.Keys != nil {
		m.Keys = strings.Join(n.cfg.Keys.Fingerprints(), ",")
	}
	if n.lives != nil {
		m.Hears = n.lives.Hears()
	}
	m.Halted, m.Stalled = n.Failure() != nil, n.stalled.Load()
	m.Silent, _ = n.silent.Load().(string)
	if q := n.quorum.Load(); q != nil && m.Cluster == "" {
		m.Quorum = *q
	}
	return m
}

// WasOpen reports whether this is the first start with a secret of a node that ran in an open cluster. Strangers may have
// written into its log before.
func (n *Node) WasOpen() bool { return n.wasOpen }

// mono returns the reading of this process's monotonic clock.
func (n *Node) mono() time.Duration { return time.Duration(n.cfg.Watch.Now().Mono) * time.Millisecond }

// ID returns the node's ID, a UUID that is stored in its data directory.
func (n *Node) ID() string { return n.id.Node() }

// ClusterID returns the ID of the node's cluster; empty while the node has joined no cluster.
func (n *Node) ClusterID() string { return n.id.Cluster() }

// Fail halts the node: it closes the channel of Failed, and the owner of the node must then close the node. Only the first
// call has an effect.
func (n *Node) Fail(err error) {
	n.failOnce.Do(func() {
		n.failure = err
		n.logger.Error("member halted", "error", err)
		noteHalt(eventsOf(n.cfg), err)
		close(n.failed)
	})
}

// Failed returns a channel that is closed when the node must halt; Failure then returns the reason.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// Failure returns the reason for which the node must halt; nil while it may run.
func (n *Node) Failure() error {
	select {
	case <-n.failed:
		return n.failure
	default:
		return nil
	}
}

// Process returns an identifier that differs between all starts of this node, even between starts with copies of its data
// directory.
func (n *Node) Process() string { return n.process }

// ForeignPeers lists the peers that were heard in the last minute and that this member cannot understand.
func (n *Node) ForeignPeers() []gossip.ForeignPeer { return n.foreign.List() }

// ProbeFailures returns the numbers of failed probes of the other members since this node started, by member ID. Members
// without a failure are included. Gossip does not probe a member that it has lost, but keeps trying to connect to it.
func (n *Node) ProbeFailures() map[string]gossip.ProbeFailures {
	all := make(map[string]gossip.ProbeFailures)
	for _, s := range n.servers() {
		if id := string(s.ID); id != n.ID() {
			all[id] = gossip.ProbeFailures{}
		}
	}
	maps.Copy(all, n.gossip.ProbeFailures(func(id string) bool { _, member := all[id]; return member }))
	return all
}
