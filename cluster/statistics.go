package cluster

import "time"

// Statistics holds the Raft counters of a node, for display.
type Statistics struct {
	Raft map[string]string // raft's own keys and values
	// Followers holds the progress of each follower of this leader; empty unless this node leads.
	Followers []FollowerStatistics
}

// FollowerStatistics is the progress of a follower.
type FollowerStatistics struct {
	ID   string        // member ID
	Last uint64        // index of the last entry that the follower acknowledged
	Age  time.Duration // age of that acknowledgement
}

// Statistics returns the counters of Raft. It waits for Raft, which may wait for the disk.
func (n *Node) Statistics() Statistics {
	s := Statistics{Raft: n.raft.Stats()}
	if !n.IsLeader() {
		return s
	}
	now := n.mono()
	n.replicated.mu.Lock()
	defer n.replicated.mu.Unlock()
	for id, a := range n.replicated.followers {
		s.Followers = append(s.Followers, FollowerStatistics{ID: string(id), Last: a.last, Age: now - a.at})
	}
	return s
}

// FollowerLags returns the number of log entries that each follower has not acknowledged to this leader, by member ID. It
// omits followers that acknowledged none in this term; leads is false unless this node leads. Unlike Statistics, it does not
// wait.
func (n *Node) FollowerLags() (lags map[string]uint64, leads bool) {
	term := n.LeadingTerm()
	if term == 0 {
		return nil, false
	}
	last := n.raft.LastIndex()
	n.replicated.mu.Lock()
	defer n.replicated.mu.Unlock()
	lags = make(map[string]uint64)
	if n.replicated.term != term {
		return lags, true
	}
	for id, a := range n.replicated.followers {
		lags[string(id)] = last - min(a.last, last)
	}
	return lags, true
}
