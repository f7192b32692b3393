package cluster

import (
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
)

// observeLeader announces and counts the leaders that raft learns of, until the node closes.
func (n *Node) observeLeader() {
	observations := make(chan raft.Observation, 16)
	observer := raft.NewObserver(observations, false, func(o *raft.Observation) bool {
		seen, ok := o.Data.(raft.LeaderObservation)
		if ok && seen.LeaderID != "" {
			n.leaders.Add(1)
		}
		return ok
	})
	n.raft.RegisterObserver(observer)
	n.wg.Go(func() {
		for {
			select {
			case <-observations:
				n.leader.Send()
			case <-n.ctx.Done():
				n.raft.DeregisterObserver(observer)
				return
			}
		}
	})
}

// HasLeader reports whether this node leads, or follows a leader.
func (n *Node) HasLeader() bool {
	_, leader := n.raft.LeaderWithID()
	return leader != ""
}

// LeaderChanges returns the number of times that this node learned of a leader since it started. It includes this node itself,
// and counts a returning leader again.
func (n *Node) LeaderChanges() uint64 { return n.leaders.Load() }

// ElectionsWon returns the number of elections that this node won since it started, by cause. Each cause is present.
func (n *Node) ElectionsWon() map[leadership.Cause]uint64 {
	return n.elections.Counts()
}
