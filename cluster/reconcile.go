package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/internal/mutant"
)

// handOverPause is how long a leader whose clock is off leads, if it is elected
// again right after it gave leadership away: when all clocks jump at once all of
// them are off until they have asked each other.
const handOverPause = 5 * time.Second

// reconcileLoop is the leader's look at the membership: whenever somebody came
// or went, and at intervals.
func (n *Node) reconcileLoop(ctx context.Context) {
	tick := time.NewTicker(n.cfg.Timing.Reconcile)
	defer tick.Stop()
	for {
		n.reconcile()
		if n.cfg.Watch.Unfit() && n.hasSuccessor() && time.Since(n.handedOver) > handOverPause {
			n.handedOver = time.Now()
			n.logger.Error("this clock is off: giving leadership away", "from_majority", n.cfg.Watch.Offset(),
				"behind_observed", n.cfg.Watch.Behind(n.cfg.Watch.Now()))
			n.raft.LeadershipTransfer()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.gossip.changed:
		}
	}
}

// maxMembers bounds what hostile or broken gossip can fill the Raft configuration with.
const maxMembers = 100

// reconcile adds new nodes as nonvoters (autopilot promotes them when they
// have caught up), and finishes removals that a leader began and did not live
// to finish. It decides no removal itself.
//
// A member that moved keeps its old address in the Raft configuration: raft
// changes a peer's address while its replication reads it without a lock
// (updateLastAppended in raft 1.7.3), and nobody needs the change, since
// ServerAddr goes by what a member says of itself.
func (n *Node) reconcile() {
	servers := make(map[string]bool)
	for _, s := range n.servers() {
		servers[string(s.ID)] = true
		if n.cfg.Removed.IsRemoved(string(s.ID)) {
			n.finishRemoval(s)
			return
		}
	}
	for _, p := range n.gossip.all() {
		if !p.alive || servers[p.meta.ID] || len(servers) >= maxMembers ||
			(p.meta.Cluster != "" && p.meta.Cluster != n.id.Cluster() && !mutant.On(mutant.NoClusterCheck)) || n.cfg.Removed.IsRemoved(p.meta.ID) {
			continue
		}
		n.logger.Info("adding a member", "name", p.meta.Name, "id", p.meta.ID, "address", p.meta.Raft)
		// One a pass. That a member was removed is remembered before it leaves the
		// configuration; should one come back by this all the same, the next pass
		// removes it. The index that raft could guard the change with is not to be
		// had: GetConfiguration of raft 1.7.3 always answers with 0.
		err := n.raft.AddNonvoter(raft.ServerID(p.meta.ID), raftAddress(p.meta.ID, p.meta.Raft), 0, enqueueTimeout).Error()
		if err != nil {
			n.logger.Warn("membership change failed", "name", p.meta.Name, "id", p.meta.ID, "error", err)
			continue
		}
		n.gossip.signal()
		return
	}
}

func (n *Node) finishRemoval(s raft.Server) {
	if string(s.ID) == n.ID() {
		n.raft.LeadershipTransfer()
		return
	}
	if err := n.raft.RemoveServer(s.ID, 0, enqueueTimeout).Error(); err != nil {
		n.logger.Warn("removal failed", "id", s.ID, "error", err)
	}
}

// promoter promotes nonvoters that are well, but for those that want to stay what they are.
type promoter struct {
	*autopilot.StablePromoter
	n *Node
}

// CalculatePromotionsAndDemotions implements autopilot.Promoter.
func (p promoter) CalculatePromotionsAndDemotions(c *autopilot.Config, s *autopilot.State) autopilot.RaftChanges {
	changes := p.StablePromoter.CalculatePromotionsAndDemotions(c, s)
	changes.Promotions = slices.DeleteFunc(changes.Promotions, func(id raft.ServerID) bool {
		peer, known := p.n.gossip.peer(string(id))
		return !known || peer.meta.Nonvoter
	})
	return changes
}

// newAutopilot promotes nonvoters that are well. It does not remove dead
// servers: only people do.
func (n *Node) newAutopilot() *autopilot.Autopilot {
	return autopilot.New(n.raft, pilotDelegate{n},
		autopilot.WithPromoter(promoter{new(autopilot.StablePromoter), n}),
		autopilot.WithLogger(logging.Hashicorp(n.logger, "autopilot")),
		autopilot.WithUpdateInterval(n.cfg.Timing.Reconcile),
		autopilot.WithReconcileInterval(n.cfg.Timing.Reconcile))
}

// pilotDelegate is what autopilot sees of a node.
type pilotDelegate struct{ n *Node }

func (d pilotDelegate) AutopilotConfig() *autopilot.Config {
	return &autopilot.Config{
		CleanupDeadServers:      false,
		LastContactThreshold:    5 * time.Second,
		MaxTrailingLogs:         250,
		ServerStabilizationTime: d.n.cfg.Timing.Stabilization,
	}
}

func (d pilotDelegate) NotifyState(*autopilot.State) {}

func (d pilotDelegate) RemoveFailedServer(*autopilot.Server) {}

func (d pilotDelegate) KnownServers() map[raft.ServerID]*autopilot.Server {
	servers := make(map[raft.ServerID]*autopilot.Server)
	for _, m := range d.n.Members() {
		status := autopilot.NodeFailed
		if m.Alive {
			status = autopilot.NodeAlive
		}
		servers[raft.ServerID(m.ID)] = &autopilot.Server{
			ID: raft.ServerID(m.ID), Name: m.Name, Address: raftAddress(m.ID, m.Address),
			NodeStatus: status, Version: m.Version, RaftVersion: int(raft.ProtocolVersionMax), IsLeader: m.ID == d.n.ID(),
			NodeType: autopilot.NodeVoter,
		}
	}
	return servers
}

// FetchServerStats answers from what the members told in their last gossip acknowledgement.
func (d pilotDelegate) FetchServerStats(_ context.Context, servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	stats := make(map[raft.ServerID]*autopilot.ServerStats)
	for id := range servers {
		var s peerStats
		if string(id) == d.n.ID() {
			s = d.n.stats()
		} else {
			p, ok := d.n.gossip.peer(string(id))
			if !ok || p.heard.IsZero() {
				continue
			}
			s = p.stats
		}
		stats[id] = &autopilot.ServerStats{LastContact: s.lastContact, LastTerm: s.lastTerm, LastIndex: s.lastIndex}
	}
	return stats
}

// stats is what this node tells of its log.
func (n *Node) stats() peerStats {
	if n.raft == nil {
		return peerStats{lastContact: time.Hour}
	}
	s := peerStats{lastIndex: n.raft.LastIndex(), lastTerm: n.lastLogTerm()}
	if n.raft.State() != raft.Leader {
		s.lastContact = time.Hour
		if at := n.raft.LastContact(); !at.IsZero() {
			s.lastContact = time.Since(at)
		}
	}
	return s
}

func (n *Node) lastLogTerm() uint64 {
	term, err := strconv.ParseUint(n.raft.Stats()["last_log_term"], 10, 64)
	if err != nil {
		return 0
	}
	return term
}
