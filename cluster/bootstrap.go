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
)

const (
	// bootstrapInterval is the interval at which a waiting node looks around.
	bootstrapInterval = 100 * time.Millisecond
	// announcePasses is the number of looks after which the node announces itself again. Gossip is
	// a matter of chance: what one node misses it gets with the next full
	// exchange, which is half a minute away.
	announcePasses = 10
)

// bootstrap starts a cluster if there is none to join; it ends when this node
// is of a cluster.
//
// The nodes that wait for each other agree without a coordinator: each takes
// the BootstrapExpect lowest IDs among the waiting nodes that it sees, itself
// included, and announces a digest of that set. The lowest of the set starts
// the cluster, with all of the set as voters, once all of them announce the
// same set. A node that sees a cluster waits to be added.
func (n *Node) bootstrap() {
	if n.id.Cluster() == "" && n.raft.LastIndex() > 0 {
		n.startCluster(func() error { return nil }) // the process ended half-way through
		return
	}
	if n.alone() {
		n.standFirst()
	}
	tick := time.NewTicker(bootstrapInterval)
	defer tick.Stop()
	for pass := 1; n.id.Cluster() == ""; pass++ {
		if n.cfg.BootstrapExpect > 0 {
			if set := n.agreedSet(); set != nil {
				n.bootstrapWith(set)
				return
			}
		}
		if pass%announcePasses == 0 {
			n.gossip.announce()
		}
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
	}
	n.logger.Info("cluster joined", "cluster_id", n.id.Cluster())
	n.gossip.announce()
}

// agreedSet announces the set of nodes that this one would start a cluster
// with, and returns it when all of them agree and it is on this node to start.
func (n *Node) agreedSet() []meta {
	own := n.meta()
	waiting := []meta{own}
	for _, p := range n.gossip.all() {
		if !p.alive {
			continue
		}
		if p.meta.Cluster != "" {
			return nil // there is a cluster: its leader adds us
		}
		if p.meta.Expect == own.Expect {
			waiting = append(waiting, p.meta)
		}
	}
	slices.SortFunc(waiting, func(a, b meta) int { return strings.Compare(a.ID, b.ID) })
	if n.sameNames(waiting) || len(waiting) < own.Expect {
		return nil
	}
	set := waiting[:own.Expect]
	digest := setDigest(set)
	if own.Quorum != digest {
		n.quorum.Store(&digest)
		n.gossip.announce()
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

func setDigest(set []meta) string {
	h := sha256.New()
	for _, m := range set {
		fmt.Fprintln(h, m.ID)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// bootstrapWith starts a cluster of these nodes as voters.
func (n *Node) bootstrapWith(set []meta) {
	var servers []raft.Server
	for _, m := range set {
		servers = append(servers, raft.Server{
			Suffrage: raft.Voter, ID: raft.ServerID(m.ID), Address: raftAddress(m.ID, m.Raft),
		})
	}
	n.startCluster(func() error {
		select {
		case err := <-outcome(n.raft.BootstrapCluster(raft.Configuration{Servers: servers})):
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
	n.gossip.announce()
}

// standFirst stands for election without the wait for a leader, because no other node can be the leader: this node has just
// started the cluster, or is the only member of its cluster.
func (n *Node) standFirst() {
	n.elections.expect(n.Term()+1, ElectionStart)
	n.guarded.stand(n.ctx)
}
