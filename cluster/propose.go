package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// enqueueTimeout bounds only the wait for raft's queue. Propose itself waits for the commit.
const enqueueTimeout = time.Second

// Propose replicates a command and returns the FSM's response.
//
// Errors: ErrNotLeader if nothing was appended; ErrUnknownOutcome, for example if ctx ends, if the command may or may not be
// committed, now or later; ErrClosed after a halt. A command above screen.MaxCommand bytes is an error, and not appended.
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
	type outcome struct {
		f   raft.ApplyFuture
		err error
	}
	done := make(chan outcome, 1)
	go func() { // Apply can block too: after a failure, no goroutine reads the queue
		f := n.raft.Apply(command, enqueueTimeout)
		done <- outcome{f, n.await(f)}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			return nil, proposalError(got.err)
		}
		return got.f.Response(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	case <-n.failed:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, n.failure)
	}
}

// Snapshot takes a snapshot now, without waiting until the log has grown. It fails with raft.ErrNothingNewToSnapshot if there
// is nothing new.
func (n *Node) Snapshot() error { return n.await(n.raft.Snapshot()) }

// ProposalFailure is the outcome of a proposal that returned an error.
type ProposalFailure string

const (
	// ProposalNotLeader means that nothing was appended, because this node does not lead or no longer leads.
	ProposalNotLeader ProposalFailure = "not_leader"
	// ProposalUnknown means that the command may or may not be committed.
	ProposalUnknown ProposalFailure = "unknown_outcome"
	// ProposalRejected means that nothing was appended for another reason: the node has halted, or the command is too large.
	ProposalRejected ProposalFailure = "rejected"
)

// proposals counts the commands that this node proposed.
type proposals struct {
	pending                      atomic.Int64
	notLeader, unknown, rejected atomic.Uint64
}

// end counts the outcome of a pending proposal; err is nil if the proposal succeeded.
func (p *proposals) end(err error) {
	p.pending.Add(-1)
	switch {
	case err == nil:
	case errors.Is(err, ErrUnknownOutcome):
		p.unknown.Add(1)
	case errors.Is(err, ErrNotLeader):
		p.notLeader.Add(1)
	default:
		p.rejected.Add(1)
	}
}

// ProposalsPending returns the number of commands that are being proposed.
func (n *Node) ProposalsPending() int64 { return n.proposals.pending.Load() }

// ProposalsFailed returns the number of proposals that failed since this node started, by failure.
func (n *Node) ProposalsFailed() map[ProposalFailure]uint64 {
	return map[ProposalFailure]uint64{
		ProposalNotLeader: n.proposals.notLeader.Load(), ProposalUnknown: n.proposals.unknown.Load(), ProposalRejected: n.proposals.rejected.Load(),
	}
}
