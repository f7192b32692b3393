package cluster

// Quorum is the state of the voters as one node sees it.
type Quorum struct {
	Voters int // voters of the Raft configuration
	Alive  int // voters that serve, see [Member.Serves]
}

// Quorum returns the state of the voters; zero before this node knows a Raft configuration.
func (n *Node) Quorum() Quorum { return QuorumOf(n.Members()) }

// QuorumOf counts the voters among members.
func QuorumOf(members []Member) (q Quorum) {
	for _, m := range members {
		if !m.Voter {
			continue
		}
		q.Voters++
		if m.Serves() {
			q.Alive++
		}
	}
	return q
}

// Serves reports whether the member can take its part in a quorum: gossip reaches it, it has not halted, and it replicates.
func (m Member) Serves() bool { return m.Alive && !m.Halted && !m.Stalled }

// Needed returns the number of voters that make a majority.
func (q Quorum) Needed() int { return q.Voters/2 + 1 }

// MayFail returns the number of live voters that may fail without a loss of quorum; 0 also if quorum is already lost.
func (q Quorum) MayFail() int { return max(q.Alive-q.Needed(), 0) }

// Even reports whether the number of voters is even. A cluster with one voter fewer tolerates as many failures.
func (q Quorum) Even() bool { return q.Voters > 0 && q.Voters%2 == 0 }
