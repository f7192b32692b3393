package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/transport"
)

// hedgeAfter is the time that a majority may take to answer before the remaining voters are queried too.
const hedgeAfter = 5 * time.Millisecond

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
	last, err := n.hedges.confirm(ctx, term, others, need, n.askTerm)
	if last != "" {
		n.answered.Store(last)
	}
	return err
}

// termAsker is a function that returns the term of a node.
type termAsker func(context.Context, raft.ServerID) (uint64, error)

// errLaterTerm is the error of a replaced leader.
var errLaterTerm = fmt.Errorf("%w: there is a later term", ErrNotLeader)

// confirm requests the terms of others, in their order, until need of them have not seen a term later than this one. It
// returns the node that answered last. If need is 1, the calling goroutine itself waits for the answer, so that no other
// goroutine has to wake up. It then queries the remaining nodes only if that takes long.
func (hs *hedges) confirm(ctx context.Context, term uint64, others []raft.ServerID, need int, askTerm termAsker) (last raft.ServerID, err error) {
	if need != 1 || len(others) == 0 {
		return gather(ctx, term, others, need, askTerm)
	}
	first, rest := others[0], others[1:]
	type outcome struct {
		last raft.ServerID
		err  error
	}
	hedged := make(chan outcome, 1)
	mine, cancel := context.WithCancel(ctx)
	defer cancel()
	var other *hedge
	if len(rest) > 0 {
		other = hs.add(func() {
			last, err := gather(ctx, term, rest, need, askTerm)
			hedged <- outcome{last, err}
			if err == nil || errors.Is(err, errLaterTerm) {
				cancel()
			}
		})
	}
	seen, err := askTerm(mine, first)
	alone := other == nil || hs.remove(other)
	switch {
	case err == nil && seen > term:
		return "", errLaterTerm
	case err == nil:
		return first, nil
	case !alone:
		late := <-hedged
		return late.last, late.err
	case ctx.Err() != nil:
		return "", ctx.Err()
	case other == nil:
		return "", unanswered(err)
	default:
		return gather(ctx, term, rest, need, askTerm)
	}
}

// gather queries need of the others at once, a further one after each failure, and all of them after hedgeAfter.
func gather(ctx context.Context, term uint64, others []raft.ServerID, need int, askTerm termAsker) (last raft.ServerID, err error) {
	if need > len(others) {
		return "", fmt.Errorf("%w: this node is not a voter", ErrNotLeader)
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
					return last, unanswered(a.err)
				}
				ask(asked + 1)
			case a.term > term:
				return last, errLaterTerm
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

// unanswered returns the error of a leader if too few others answer; last is the last failure.
func unanswered(last error) error {
	return fmt.Errorf("%w: no response from a majority of the voters; last error: %w", ErrNotLeader, last)
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
	others, need = majority(n.servers(), raft.ServerID(n.ID()))
	last, _ := n.answered.Load().(raft.ServerID)
	if i := slices.Index(others, last); i > 0 {
		others[0], others[i] = others[i], others[0]
	}
	return others, need
}

// majority returns the voters among servers other than self. need is how many of them make a majority, together with self if
// it is a voter.
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
	if voters == len(others) { // self is not a voter
		need++
	}
	return others, need
}
