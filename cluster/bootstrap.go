package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/peer"
)

const (
	// bootstrapInterval is the interval at which a waiting node checks which other nodes it sees.
	bootstrapInterval = 100 * time.Millisecond
	// announcePasses is the number of checks after which the node announces itself again. Gossip is probabilistic: a node
	// that misses an announcement would otherwise get it only with the next full exchange, half a minute later.
	announcePasses = 10
)

// knowsEarlier replaces the digest of a node whose earlier data directory lies next to the present one.
var knowsEarlier = "earlier"

// bootstrap starts a cluster if there is none to join. It returns when this node belongs to a cluster.
//
// The nodes that wait for each other agree without a coordinator. Each node takes the BootstrapExpect lowest IDs among the
// waiting nodes that it sees, itself included, and announces a digest of that set. Once all nodes of the set announce the
// same digest, the node with the lowest ID starts the cluster, with the whole set as voters. A node that sees a cluster
// waits until it is added. A node whose earlier data directory lies next to the present one says so, and no node that sees it
// starts a cluster: that would issue the IDs and numbers of the earlier one again.
func (n *Node) bootstrap() {
	if n.id.Cluster() == "" && n.raft.LastIndex() > 0 {
		n.startCluster(func() error { return nil }) // the process exited half-way through
		return
	}
	if n.alone() {
		n.standFirst()
	}
	if n.aside.Dir != "" {
		n.quorum.Store(&knowsEarlier)
		n.gossip.Announce()
	}
	tick := time.NewTicker(bootstrapInterval)
	defer tick.Stop()
	for pass := 1; n.id.Cluster() == ""; pass++ {
		if n.cfg.BootstrapExpect > 0 && n.aside.Dir == "" {
			if set := n.agreedSet(); set != nil {
				n.bootstrapWith(set)
				return
			}
		}
		if pass%announcePasses == 0 {
			n.gossip.Announce()
		}
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
	}
	n.logger.Info("cluster joined", "cluster_id", n.id.Cluster())
	n.gossip.Announce()
}

// agreedSet announces the set of nodes with which this node would start a cluster. It returns the set once all of its nodes
// agree and this node has the lowest ID, and nil otherwise.
func (n *Node) agreedSet() []peer.Meta {
	own := n.meta()
	waiting := []peer.Meta{own}
	for _, p := range n.gossip.Peers() {
		if !p.Alive {
			continue
		}
		if p.Claim.Cluster != "" || p.Claim.Quorum == knowsEarlier {
			return nil // a cluster exists: its leader adds this node, or an operator restores it
		}
		if p.Claim.Expect == own.Expect {
			waiting = append(waiting, p.Claim)
		}
	}
	slices.SortFunc(waiting, func(a, b peer.Meta) int { return strings.Compare(a.ID, b.ID) })
	if n.haveSameNames(waiting) || len(waiting) < own.Expect {
		return nil
	}
	set := waiting[:own.Expect]
	digest := setDigest(set)
	if own.Quorum != digest {
		n.quorum.Store(&digest)
		n.gossip.Announce()
	}
	if set[0].ID != own.ID {
		return nil
	}
	for _, m := range set[1:] {
		if m.Quorum != digest {
			return nil
		}
	}
	return set
}

func setDigest(set []peer.Meta) string {
	h := sha256.New()
	for _, m := range set {
		fmt.Fprintln(h, m.ID)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// bootstrapWith starts a cluster of these nodes as voters.
func (n *Node) bootstrapWith(set []peer.Meta) {
	var servers []raft.Server
	for _, m := range set {
		servers = append(servers, raft.Server{
			Suffrage: raft.Voter, ID: raft.ServerID(m.ID), Address: peer.RaftAddress(m.ID, m.Raft),
		})
	}
	n.startCluster(func() error {
		select {
		case err := <-n.outcome(n.raft.BootstrapCluster(raft.Configuration{Servers: servers})):
			return err
		case <-n.failed: // raft does not answer if the disk failed
			return n.Failure()
		}
	})
}

func (n *Node) startCluster(start func() error) {
	cluster := uuid.NewString()
	first, err := n.id.Found(cluster, start)
	if errors.Is(err, raft.ErrCantBootstrap) {
		err = fmt.Errorf("%w: an earlier start was interrupted, and nothing was issued; empty the data directory %s and start again", err, n.cfg.DataDir)
	}
	if err != nil {
		n.Fail(fmt.Errorf("bootstrap: %w", err))
		return
	}
	if first {
		n.logger.Info("cluster started", "cluster_id", cluster)
		n.standFirst()
	}
	n.gossip.Announce()
}

// standFirst stands for election without waiting for a leader. No other node can lead, because this node has just started the
// cluster, or is its only member.
func (n *Node) standFirst() {
	n.elections.Expect(n.Term()+1, leadership.Start)
	n.guarded.StandForElection(n.ctx)
}
