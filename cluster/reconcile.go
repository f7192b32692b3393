package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/events"
)

// handOverPause is the time for which a leader with a wrong clock leads if it is elected again right after it transferred
// leadership. If all clocks jump at once, all of them count as wrong until the members have compared them.
const handOverPause = 5 * time.Second

// actorLeader is the actor of changes that the leader makes without a request.
const actorLeader = "leader"

// reconcileLoop calls reconcile whenever a member came or went, and at intervals. It transfers leadership if the clock of this
// node is wrong.
func (n *Node) reconcileLoop(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Timing.Reconcile)
	defer tick.Stop()
	for {
		if err := n.changeMembership(n.reconcile); err != nil {
			n.logger.Warn("membership change failed; retrying", "error", err)
		}
		if n.cfg.Watch.Unfit() && n.hasSuccessor() && time.Since(n.handedOver) > handOverPause {
			n.handedOver = time.Now()
			n.logger.Error("clock offset exceeded; transferring leadership", "from_majority", n.cfg.Watch.Offset(),
				"behind_observed", n.cfg.Watch.Behind(n.cfg.Watch.Now()))
			n.cfg.Events.Note(events.Clock, slog.LevelError, n.cfg.Name+" transfers leadership, because its clock is off")
			n.raft.LeadershipTransfer()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.gossip.Changes():
		}
	}
}

// reconcile makes one change of the membership if one is due: it finishes a removal that a leader began, promotes a nonvoter
// that is fit, or adds a new node as a nonvoter. It never decides a removal. Call it only from change.
//
// A member that moved keeps its old address in the Raft configuration. Raft changes a peer's address while its replication
// reads the address without a lock (updateLastAppended in raft 1.7.3). The change is also not needed, because ServerAddr uses
// the address of the last handshake.
func (n *Node) reconcile() error {
	servers := n.servers()
	known := make(map[string]bool)
	for _, s := range servers {
		known[string(s.ID)] = true
		if n.cfg.Removed.IsRemoved(string(s.ID)) {
			return n.finishRemoval(s)
		}
	}
	if s, ok := n.promotable(servers, time.Now()); ok {
		err := n.awaitChange(n.raft.AddVoter(s.ID, s.Address, 0, enqueueTimeout))
		if err == nil {
			n.logger.Info("member promoted to voter", "peer", n.label(s.ID), "peer_id", s.ID, "actor", actorLeader,
				"healthy_for", n.cfg.Timing.PromoteAfter)
		}
		return err
	}
	for _, p := range n.gossip.Peers() {
		if !p.Alive || known[p.Claim.ID] || len(known) >= maxMembers ||
			p.Claim.Cluster != "" && p.Claim.Cluster != n.id.Cluster() || n.cfg.Removed.IsRemoved(p.Claim.ID) {
			continue
		}
		if n.programRefused(p) || n.nameRefused(p) || n.namesOpen() {
			continue
		}
		err := n.awaitChange(n.raft.AddNonvoter(raft.ServerID(p.Claim.ID), peer.RaftAddress(p.Claim.ID, p.Claim.Raft), 0, enqueueTimeout))
		if err == nil {
			n.logger.Info("member joined as nonvoter", "peer", p.Claim.Name, "peer_id", p.Claim.ID, "address", p.Claim.Raft, "actor", actorLeader)
		}
		return err
	}
	return nil
}
