package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

const (
	// seedsWithin bounds the wait of the member of a one-member cluster for the first contact with its seeds.
	seedsWithin = 5 * time.Second
	// seedsHalt is the time after its start within which a member halts if a seed belongs to another cluster. Later, no
	// program at a seed's address stops a member that issues.
	seedsHalt = time.Minute
)

// seeds holds the state of the addresses in --join.
type seeds struct {
	since   time.Duration   // start of the node, on the monotonic clock
	foreign map[string]bool // addresses in other clusters that were logged
	tried   chan struct{}   // closed when each address was contacted once
}

// judgeSeedContact handles the outcome of a contact. A seed in another cluster is a mistake of the operator. If this node is the only
// member of its cluster, it halts before it issues anything: the operator intends it for the other cluster, and both clusters
// would issue the same IDs. A member of a larger cluster stays in its own, and so does a member whose seed is in an ancestor
// of its cluster.
func (n *Node) judgeSeedContact(address string, err error) {
	other, ok := errors.AsType[*peer.OtherClusterError](err)
	if !ok || !slices.Contains(n.cfg.Join, address) || slices.Contains(n.lives.Known().Ancestors, other.Theirs) {
		return
	}
	if n.alone() && n.mono()-n.seeds.since <= seedsHalt && n.confirmOtherCluster(other) {
		n.Fail(fmt.Errorf("the data directory %s belongs to cluster %s, which has no other member, but %s belongs to cluster %s; both clusters may issue the same IDs. "+
			"To keep the data, start without %s in --join; to join that cluster, move the directory away and start with an empty one",
			n.cfg.DataDir, other.Ours, address, other.Theirs, address))
		return
	}
	if !n.seeds.foreign[address] {
		n.seeds.foreign[address] = true
		n.logger.Warn("join address belongs to another cluster; this member stays in its own; correct --join",
			"address", address, "cluster", other.Ours, "other_cluster", other.Theirs)
	}
}

// confirmOtherCluster reports whether the node of another cluster is at the seed and names its other cluster when it is dialed. Gossip
// is not enough: another node may have answered meanwhile, and a recorded message can be replayed.
func (n *Node) confirmOtherCluster(other *peer.OtherClusterError) bool {
	return other.Contacted && n.greeter != nil && errors.Is(n.greeter.Greet(raft.ServerID(other.ID), raft.ServerAddress(other.Address)), peer.ErrOtherCluster)
}

// alone reports whether this node is the only one in its Raft configuration.
func (n *Node) alone() bool {
	servers := n.servers()
	return len(servers) == 1 && string(servers[0].ID) == n.ID()
}

// awaitSeeds delays leadership in a one-member cluster until each seed was contacted once, for at most seedsWithin.
func (n *Node) awaitSeeds(ctx context.Context) {
	if len(n.cfg.Join) == 0 || !n.alone() {
		return
	}
	select {
	case <-n.seeds.tried:
	case <-time.After(seedsWithin):
	case <-ctx.Done():
	}
}
