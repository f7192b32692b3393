package cluster

import (
	"errors"
	"sync/atomic"
)

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
