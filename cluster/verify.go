package cluster

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/transport"
)

// Verify confirms that this node, which led in a term, had not been replaced when the call began. At that time, a majority of
// the voters had not seen a later term, and any later leader needs a vote in its term from one of them. If a caller gets the
// term from [Node.LeadingTerm], reads, and then calls Verify, the data that it read was current.
//
// Raft's own VerifyLeader is not enough. It also counts answers to messages that were sent before the call (replication.go,
// notifyAll). A leader that was paused for seconds may find such answers waiting when it resumes.
//
// Errors: ErrNotLeader if this node was replaced or cannot reach a majority; the error of ctx, or context.DeadlineExceeded after 5 s without
// the answers of a majority.
func (n *Node) Verify(ctx context.Context, term uint64) error {
	if term == 0 || n.leads.Load() != term || n.Term() != term {
		return ErrNotLeader
	}
	others, need := n.otherVoters()
	ctx, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	last, err := n.hedges.Confirm(ctx, term, others, need, n.askTerm)
	if last != "" {
		n.answered.Store(last)
	}
	return err
}

// askTerm requests the term of a node at its present address, which may differ from that in the Raft configuration.
func (n *Node) askTerm(ctx context.Context, id raft.ServerID) (uint64, error) {
	address, err := n.ServerAddr(id)
	if err != nil {
		return 0, err
	}
	return n.asker.AskTerm(ctx, id, address)
}

// otherVoters returns the voters other than this node, beginning with the voter that answered last. need is how many of them
// make a majority, together with this node if it is a voter.
func (n *Node) otherVoters() (others []raft.ServerID, need int) {
	others, need = leadership.MajorityWithout(n.servers(), raft.ServerID(n.ID()))
	last, _ := n.answered.Load().(raft.ServerID)
	if i := slices.Index(others, last); i > 0 {
		others[0], others[i] = others[i], others[0]
	}
	return others, need
}

// termSource requests what a node knows. A simulated Transport may implement it.
type termSource interface {
	// AskTerm returns the term at some moment after the call began.
	AskTerm(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (term uint64, err error)
	// AskMark returns the watermark at some moment after the call began; zero if the node's program keeps none.
	AskMark(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (transport.Mark, error)
}
