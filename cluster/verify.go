package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// hedgeAfter is how long a majority may take to answer until all others are asked too.
const hedgeAfter = 5 * time.Millisecond

// Verify confirms that this node, which led in a term, was not replaced when the call began: a
// majority of the voters had not seen a later term then, and any later leader needs the vote, in its
// term, of one of them. Whoever learns the term with [Node.LeadingTerm], reads, and then verifies knows
// that what was read was current.
//
// Raft's own VerifyLeader is not enough: it also counts answers to messages that were sent before
// it was called (replication.go, notifyAll), and a leader that was stopped for seconds may find
// such answers waiting when it goes on.
//
// Errors: ErrNotLeader, also when no majority answers; that of ctx.
func (n *Node) Verify(ctx context.Context, term uint64) error {
	if term == 0 || n.leads.Load() != term || n.Term() != term {
		return ErrNotLeader
	}
	others, need := n.otherVoters()
	ctx, cancel := context.WithTimeout(ctx, transportTimeout)
	defer cancel()
	last, err := confirm(ctx, term, others, need, n.askTerm)
	if last != "" {
		n.answered.Store(last)
	}
	return err
}

// confirm asks others, the first first, until as many as needed have not seen a term later than this
// one, and returns who answered last.
func confirm(ctx context.Context, term uint64, others []raft.ServerID, need int, askTerm func(context.Context, raft.ServerID) (uint64, error)) (last raft.ServerID, err error) {
	if need > len(others) {
		return "", fmt.Errorf("%w: this node is no voter", ErrNotLeader)
	}
	type answer struct {
		from raft.ServerID
		term uint64
		err  error
	}
	answers := make(chan answer, len(others))
	asked := 0
	ask := func(upTo int) {
		for ; asked < min(upTo, len(others)); asked++ {
			id := others[asked]
			go func() {
				t, err := askTerm(ctx, id)
				answers <- answer{id, t, err}
			}()
		}
	}
	ask(need)
	hedge := time.NewTimer(hedgeAfter)
	defer hedge.Stop()
	for agreed, failed := 0, 0; agreed < need; {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				if failed++; failed > len(others)-need {
					return last, fmt.Errorf("%w: a majority of the voters does not answer, the last error is: %w", ErrNotLeader, a.err)
				}
				ask(asked + 1)
			case a.term > term:
				return last, fmt.Errorf("%w: there is a later term", ErrNotLeader)
			default:
				agreed, last = agreed+1, a.from
			}
		case <-hedge.C:
			ask(len(others))
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
	return last, nil
}

// askTerm asks a node where it is now, which the Raft configuration may not know.
func (n *Node) askTerm(ctx context.Context, id raft.ServerID) (uint64, error) {
	address, err := n.ServerAddr(id)
	if err != nil {
		return 0, err
	}
	return n.asker.AskTerm(ctx, id, address)
}

// otherVoters is the voters beside this node, the one that answered last first, and how many of
// them make a majority together with this node, if it is a voter.
func (n *Node) otherVoters() (others []raft.ServerID, need int) {
	others, need = majority(n.servers(), raft.ServerID(n.ID()))
	last, _ := n.answered.Load().(raft.ServerID)
	if i := slices.Index(others, last); i > 0 {
		others[0], others[i] = others[i], others[0]
	}
	return others, need
}

// majority is the voters among servers beside one node, and how many of them make a majority
// together with it, if it is a voter.
func majority(servers []raft.Server, self raft.ServerID) (others []raft.ServerID, need int) {
	voters := 0
	for _, s := range servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID != self {
			others = append(others, s.ID)
		}
	}
	need = voters / 2
	if voters == len(others) { // this node is none of them
		need++
	}
	return others, need
}
