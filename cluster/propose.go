package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// enqueueTimeout bounds only the way into raft's queue; the commit is waited for in Propose.
const enqueueTimeout = time.Second

// Propose replicates a command and returns what the FSM answered.
//
// Errors: ErrNotLeader when nothing was appended; ErrUnknownOutcome when the
// command may or may not be committed, now or later; ErrClosed.
func (n *Node) Propose(ctx context.Context, command []byte) (_ any, err error) {
	n.proposals.pending.Add(1)
	defer func() { n.proposals.end(err) }()
	if err := n.Failure(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if !n.IsLeader() {
		return nil, ErrNotLeader
	}
	if len(command) > screen.MaxCommand {
		return nil, fmt.Errorf("command of %d bytes: expected at most %d bytes", len(command), screen.MaxCommand) // followers would refuse it
	}
	done := make(chan raft.ApplyFuture, 1)
	go func() { // also the way into the queue can take long: after a failure, no goroutine takes from it
		f := n.raft.Apply(command, enqueueTimeout)
		_ = f.Error() // it is asked again
		done <- f
	}()
	select {
	case f := <-done:
		if err := f.Error(); err != nil {
			return nil, proposalError(err)
		}
		return f.Response(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	case <-n.failed:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, n.failure)
	}
}

// Snapshot takes a snapshot now instead of when the log has grown. It fails
// with raft.ErrNothingNewToSnapshot when there is nothing new.
func (n *Node) Snapshot() error { return n.raft.Snapshot().Error() }
