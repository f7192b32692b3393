package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/trust"
)

// Config holds the settings of a node. Open copies it; it does not change afterwards.
type Config struct {
	// Name is the human-readable name of the member. Without ForceName, a node joins only if no other member has its name.
	Name string
	// ForceName makes a new node join although a member has its name: the node will replace that member.
	ForceName bool
	// DataDir is the data directory; the node creates it if it does not exist.
	DataDir string

	// RaftListener accepts the peers' Raft connections; the node closes it.
	RaftListener net.Listener
	// Gossip is the transport of memberlist, already bound; the node shuts it down.
	Gossip memberlist.NodeAwareTransport
	// GossipHost and GossipPort are the address at which peers reach the gossip transport.
	GossipHost string
	GossipPort int
	// RaftAddress and APIAddress are the addresses at which peers and clients reach this node, host:port.
	RaftAddress string
	APIAddress  string
	// HTTPPort is the port at which clients of HTTP reach this node, at the host of APIAddress; 0: none.
	HTTPPort uint16

	// Dial connects to the Raft ports of other members; nil dials in the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Join are gossip addresses of other members, host:port.
	Join []string
	// BootstrapExpect is the number of new nodes that start a cluster together. With 1, the node starts a cluster alone; with
	// 0, it only joins an existing cluster.
	BootstrapExpect int
	// Nonvoter keeps the node from being promoted: it follows the log and has no vote. A node that already votes keeps its
	// vote.
	Nonvoter bool

	// FSM is the replicated state machine.
	FSM raft.FSM
	// Admit returns an error for a command that the FSM cannot apply; nil admits every command. The node calls it for commands
	// of a leader before they enter the log.
	Admit func(*raft.Log) error
	// Commands is the newest version of the FSM's commands that this node supports.
	Commands uint32
	// Used returns the version of the commands that the cluster uses; nil counts as version 0. It may be called from any
	// goroutine.
	Used func() uint32
	// Version is the version of the program, for display.
	Version string

	// Keys are the cluster's secrets; a peer must have at least one of them. Nil in an open cluster.
	Keys *trust.Keys
	// Insecure lets a node start without Keys although it had Keys at an earlier start.
	Insecure bool

	// Watch compares this node's clock with the clocks of the other members.
	Watch *clock.Watch
	// Logger receives the log of the node.
	Logger *slog.Logger

	// Events records the events of the node; nil discards them.
	Events Events

	// Lead runs while this node leads. The node calls it after all entries of earlier terms were applied, and cancels its
	// context when leadership ends.
	Lead func(ctx context.Context)
	// First returns the command that begins a leadership, before the node serves as the leader; nil if there is none, or if
	// First is nil.
	First func() ([]byte, error)
	// Removed remembers removed members, so that they are not added again.
	Removed RemovedMembers

	// Lives returns what the state knows about other lives of the cluster; nil if nothing. It may be called from any goroutine.
	Lives func() lives.Lives
	// History is the record of the FSM's history, by which the node notices that disks were set back; nil: none.
	History History

	// Meter receives the durations that the node measures.
	Meter Meter

	// Timing holds the durations and thresholds of the node.
	Timing Timing

	// Transport and Storage replace network and disk in simulations; nil otherwise.
	Transport transport.Transport
	Storage   *storage.Stores
}

// RemovedMembers is the replicated record of the removed members.
type RemovedMembers interface {
	// IsRemoved reports whether a member was removed. It may be called from any goroutine.
	IsRemoved(id string) bool
	// Remove records a member as removed; it makes a proposal, so this node must lead.
	Remove(ctx context.Context, id string) error
}

// Timing holds the durations and thresholds of a node. The zero value of a field selects its default, given in parentheses.
type Timing struct {
	// Heartbeat is the time that a follower waits for the leader before it stands for election (500 ms).
	Heartbeat time.Duration
	// LeaderLease is the time for which a leader continues without hearing from a majority (4/5 of Heartbeat: 400 ms).
	LeaderLease time.Duration
	// GossipProbe is the interval of gossip probes, and of clock comparisons, which are at most 1 s apart (1 s).
	GossipProbe time.Duration
	// Reconcile is the interval at which the leader checks the membership (2 s). The leader also checks whenever a member
	// comes or goes.
	Reconcile time.Duration
	// PromoteAfter is the time for which one leader must see a nonvoter healthy before that leader promotes it (30 s).
	PromoteAfter time.Duration
	// Rejoin is the interval between attempts to contact lost members (10 s).
	Rejoin time.Duration
	// DiskStall is the time that one write to the log may take before a leader halts (10 s).
	DiskStall time.Duration
	// SnapshotThreshold is the number of log entries after which a snapshot of a small state is taken (4096), see logFor.
	SnapshotThreshold uint64
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&t.Heartbeat, 500*time.Millisecond)
	set(&t.LeaderLease, t.Heartbeat*4/5)
	set(&t.GossipProbe, time.Second)
	set(&t.Reconcile, 2*time.Second)
	set(&t.PromoteAfter, limits.DefaultPromoteAfter)
	set(&t.Rejoin, 10*time.Second)
	set(&t.DiskStall, 10*time.Second)
	if t.SnapshotThreshold == 0 {
		t.SnapshotThreshold = 4096
	}
	return t
}

// trailingLogs is the number of entries that are kept behind a snapshot of a small state for followers that lag a little.
const trailingLogs = 2048

func (c *Config) validate() error {
	var errs []error
	if c.FSM == nil || c.Watch == nil || c.Logger == nil || c.Lead == nil || c.Removed == nil || c.Gossip == nil {
		errs = append(errs, errors.New("FSM, Watch, Logger, Lead, Removed and Gossip are required"))
	}
	if c.BootstrapExpect < 0 || (c.BootstrapExpect > 1 && c.BootstrapExpect%2 == 0) {
		errs = append(errs, fmt.Errorf("bootstrap-expect %d: expected 0, 1 or another odd number", c.BootstrapExpect))
	}
	if c.BootstrapExpect == 1 && len(c.Join) > 0 {
		errs = append(errs, errors.New("bootstrap-expect 1 cannot be combined with join; set the number of new members that start a cluster together"))
	}
	if c.BootstrapExpect > 0 && c.Nonvoter {
		errs = append(errs, errors.New("a nonvoter cannot start a cluster; set bootstrap-expect to 0"))
	}
	return errors.Join(errs...)
}

func (c *Config) raftConfig(id string, notify chan<- bool, logger hclog.Logger) *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(id)
	rc.HeartbeatTimeout = c.Timing.Heartbeat
	rc.ElectionTimeout = c.Timing.Heartbeat
	rc.LeaderLeaseTimeout = c.Timing.LeaderLease
	rc.CommitTimeout = 200 * time.Millisecond // longest delay until an idle follower learns of a commit
	rc.SnapshotInterval = 10 * time.Second
	rc.MaxAppendEntries = screen.MaxEntries // followers refuse more
	rc.ShutdownOnRemove = false             // the node itself decides what a removal means
	rc.NotifyCh = notify
	rc.Logger = logger
	rc.NoLegacyTelemetry = true
	return rc
}
