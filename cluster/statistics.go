package cluster

import "time"

// Statistics are what Raft counts in a node, for people.
type Statistics struct {
	Raft map[string]string // as the library words them
	// Followers are the log entries that followers acknowledged to this leader; empty unless it leads.
	Followers []FollowerStatistics
}

// FollowerStatistics is the progress of a follower.
type FollowerStatistics struct {
	ID   string
	Last uint64        // index of the last entry that the follower acknowledged
	Age  time.Duration // of that acknowledgement
}

// Statistics returns what Raft counts. It waits for Raft, which may wait for its disk.
func (n *Node) Statistics() Statistics {
	s := Statistics{Raft: n.raft.Stats()}
	if !n.IsLeader() {
		return s
	}
	now := n.gossip.mono()
	n.replicated.mu.Lock()
	defer n.replicated.mu.Unlock()
	for id, a := range n.replicated.followers {
		s.Followers = append(s.Followers, FollowerStatistics{ID: string(id), Last: a.last, Age: now - a.at})
	}
	return s
}
