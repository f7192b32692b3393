package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/transport"
)

// follower shows a node as the voter of its succession.
type follower struct{ *Node }

// Following implements leadership.Voter.
func (f follower) Following() (leader string, term uint64, ok bool) {
	term = f.Term()
	_, id := f.raft.LeaderWithID()
	return string(id), term, f.raft.State() == raft.Follower && id != "" && f.Term() == term
}

// LastContact implements leadership.Voter.
func (f follower) LastContact() time.Time { return f.raft.LastContact() }

// LastEntry implements leadership.Voter.
func (f follower) LastEntry() (term, index uint64) {
	index = f.raft.LastIndex()
	entry, _ := f.bounds().EntryAt(index)
	return entry.Term, index
}

// Voters implements leadership.Voter.
func (f follower) Voters() []string {
	var ids []string
	for _, s := range f.servers() {
		if s.Suffrage == raft.Voter {
			ids = append(ids, string(s.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

// OtherVoters implements leadership.Voter.
func (f follower) OtherVoters() (others []raft.ServerID, need int) { return f.otherVoters() }

// ConfirmedAddresses implements leadership.Voter.
func (f follower) ConfirmedAddresses(id string) []string {
	addresses, certain := f.addressesOf(id)
	return addresses[:certain]
}

// Label implements leadership.Voter.
func (f follower) Label(id raft.ServerID) string { return f.label(id) }

// StandForElection implements leadership.Voter.
func (f follower) StandForElection(ctx context.Context, term uint64) bool {
	f.elections.Expect(term, leadership.Refused)
	return f.guarded.StandForElection(ctx)
}

// Witness answers the question of a voter that has lost the leader, see leadership.Succession.
func (n *Node) Witness(ctx context.Context, candidate string, question transport.Loss) transport.LossReply {
	if _, open := n.termIfOpen(); !open || n.succession == nil {
		return transport.LossReply{Why: "not a voter"}
	}
	return n.succession.AnswerLoss(ctx, candidate, question)
}
