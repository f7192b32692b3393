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
	_, followers := n.replicated.Progress()
	for id, a := range followers {
		s.Followers = append(s.Followers, FollowerStatistics{ID: string(id), Last: a.Last, Age: now - a.At})
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
	led, followers := n.replicated.Progress()
	lags = make(map[string]uint64)
	if led != term {
		return lags, true
	}
	for id, a := range followers {
		lags[string(id)] = last - min(a.Last, last)
	}
	return lags, true
}
