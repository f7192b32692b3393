package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// maxMembers bounds the number of nodes that hostile or broken gossip can add to the Raft configuration.
const maxMembers = 100

// changeMembership runs do, which makes one change of the membership. While do runs, this node makes no other change, and appends to
// the log in one term only:
//
//   - lead does not return before do has. Raft does not lead in a later term before lead has returned: raft waits until
//     follow takes its notification (runLeader), and follow waits for lead.
//   - A node leads only after it has applied all entries of earlier terms.
//
// Therefore do sees every removal that precedes its own entries in the log, and a removed member becomes neither a nonvoter
// nor a voter. The index with which raft can guard a change is not enough, because a removal is first a command, which
// changes no configuration.
func (n *Node) changeMembership(do func() error) error {
	n.changing <- struct{}{} // not a mutex: in synthetic time, waiting for a mutex stops the clock
	defer func() { <-n.changing }()
	if !n.IsLeader() || n.Failure() != nil {
		return ErrNotLeader
	}
	return do()
}

// awaitChange waits for the outcome of a change of the Raft configuration.
func (n *Node) awaitChange(f raft.Future) error {
	select {
	case err := <-n.outcome(f):
		if err == nil {
			n.gossip.SignalChange() // another change may be due
		}
		return proposalError(err)
	case <-n.failed:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, n.failure)
	}
}

// Remove removes a member from the cluster permanently. Only the leader can, and it cannot remove itself: it must transfer
// leadership first. If ctx ends, the removal continues.
//
// Errors: ErrNotLeader; those of CheckRemoval; ErrUnknownOutcome if ctx ends or the outcome is unknown for another reason.
func (n *Node) Remove(ctx context.Context, id string, force bool) error {
	done := make(chan error, 1)
	go func() {
		done <- n.changeMembership(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if id == n.ID() {
				return fmt.Errorf("%w: a leader does not remove itself", ErrNotLeader)
			}
			if err := n.CheckRemoval(id, force); err != nil {
				return err
			}
			// The outcome must be known before the next change, even if ctx ends.
			if err := n.cfg.Removed.Remove(context.WithoutCancel(ctx), id); err != nil {
				return err
			}
			return n.awaitChange(n.raft.RemoveServer(raft.ServerID(id), 0, enqueueTimeout))
		})
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	}
}

// CheckRemoval returns the reason for which a member cannot be removed: ErrUnknownMember or, without force, ErrQuorum if no
// majority of the remaining voters is alive.
func (n *Node) CheckRemoval(id string, force bool) error {
	if _, ok := n.server(id); !ok {
		return fmt.Errorf("%w: %s", ErrUnknownMember, id)
	}
	switch live, voters := without(n.Members(), id); {
	case voters == 0:
		return fmt.Errorf("%w: it is the last voter; add a voter first, or stop all members and delete their data directories", ErrQuorum)
	case !force && live <= voters/2:
		return fmt.Errorf("%w: %d of %d; restart the other voters first, or set force", ErrQuorum, live, voters)
	}
	return nil
}

// without returns the number of voters other than one member, and how many of them serve.
func without(members []Member, id string) (live, voters int) {
	for _, m := range members {
		if m.Voter && m.ID != id {
			voters++
			if m.Serves() {
				live++
			}
		}
	}
	return live, voters
}

// finishRemoval removes a removed member from the Raft configuration. It needs no check: the removal is already decided, and
// each stopped voter in the configuration makes a majority harder to reach. A leader that was removed transfers leadership
// instead.
func (n *Node) finishRemoval(s raft.Server) error {
	if string(s.ID) == n.ID() {
		n.raft.LeadershipTransfer()
		return nil
	}
	return n.awaitChange(n.raft.RemoveServer(s.ID, 0, enqueueTimeout))
}

// removalEnded reports whether a member was removed and has left the Raft configuration. Until it has left, its vote may be needed.
func (n *Node) removalEnded(id string) bool {
	if !n.cfg.Removed.IsRemoved(id) {
		return false
	}
	select {
	case <-n.opened:
	case <-n.ctx.Done():
		return false
	}
	_, ok := n.server(id)
	return !ok
}

// fitness holds the time since which a nonvoter is fit to vote, and the number of its start.
type fitness struct {
	since  time.Time
	starts uint64
}

// promotable returns a nonvoter that has been fit to vote for Timing.PromoteAfter, without a restart.
func (n *Node) promotable(servers []raft.Server, now time.Time) (found raft.Server, ok bool) {
	fit := make(map[raft.ServerID]fitness)
	for _, s := range servers {
		if s.Suffrage == raft.Voter || !n.isFit(s.ID) {
			continue
		}
		p, _ := n.gossip.Peer(string(s.ID))
		f, was := n.fitSince[s.ID]
		if starts := p.Known().Starts; !was || f.starts != starts {
			f = fitness{now, starts}
		}
		fit[s.ID] = f
		if !ok && now.Sub(f.since) >= n.cfg.Timing.PromoteAfter {
			found, ok = s, true
		}
	}
	n.fitSince = fit
	return found, ok
}

// isFit reports whether a nonvoter may become a voter: it is alive, may vote, and this leader has seen it replicate.
func (n *Node) isFit(id raft.ServerID) bool {
	p, known := n.gossip.Peer(string(id))
	return known && p.Alive && !p.Claim.Nonvoter && !p.Confirmed.Nonvoter && n.replicated.IsUpToDate(id, n.leads.Load(), n.mono())
}
