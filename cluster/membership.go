package cluster

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"
)

// maxMembers bounds what hostile or broken gossip can fill the Raft configuration with.
const maxMembers = 100

// change makes one change of the membership. It guarantees that, from the begin of do to its end, no
// other change is made by this node, and this node appends to the log in one term only:
//
//   - lead does not end before do has, and raft enters no later term as leader before lead has
//     ended, since follow takes the notifications of raft, which waits for that (runLeader).
//   - A node leads once it has applied all entries of earlier terms.
//
// So do sees every removal that precedes its own entries in the log, and a member that was
// removed becomes neither a nonvoter nor a voter. The index that raft could guard a change with is
// not enough, because a removal is first a command: it changes no configuration.
func (n *Node) change(do func() error) error {
	n.changing <- struct{}{} // no mutex: in synthetic time a wait for one stops the clock
	defer func() { <-n.changing }()
	if !n.IsLeader() || n.Failure() != nil {
		return ErrNotLeader
	}
	return do()
}

// settle waits for the outcome of a change of the Raft configuration.
func (n *Node) settle(f raft.Future) error {
	select {
	case err := <-outcome(f):
		if err == nil {
			n.gossip.signal() // another change may be due
		}
		return proposalError(err)
	case <-n.failed:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, n.failure)
	}
}

// Remove takes a member out of the cluster permanently. Only the leader can, and
// not itself: it hands leadership over first. It refuses what CheckRemoval refuses.
// A removal that ctx interrupts has an unknown outcome and continues.
func (n *Node) Remove(ctx context.Context, id string, force bool) error {
	done := make(chan error, 1)
	go func() {
		done <- n.change(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if id == n.ID() {
				return fmt.Errorf("%w: a leader does not remove itself", ErrNotLeader)
			}
			if err := n.CheckRemoval(id, force); err != nil {
				return err
			}
			// Its outcome must be known before the next change, whoever waits for it.
			if err := n.cfg.Removed.Remove(context.WithoutCancel(ctx), id); err != nil {
				return err
			}
			return n.settle(n.raft.RemoveServer(raft.ServerID(id), 0, enqueueTimeout))
		})
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	}
}

// CheckRemoval returns why a member cannot be removed: ErrUnknownMember or, without force,
// ErrQuorum when no majority of the voters would be alive afterwards.
func (n *Node) CheckRemoval(id string, force bool) error {
	if _, ok := n.server(id); !ok {
		return fmt.Errorf("%w: %s", ErrUnknownMember, id)
	}
	if live, voters := without(n.Members(), id); !force && live <= voters/2 {
		return fmt.Errorf("%w: %d of %d; restart the other voters first, or set force", ErrQuorum, live, voters)
	}
	return nil
}

// without returns the number of voters without one member, and the number of them that are alive.
func without(members []Member, id string) (live, voters int) {
	for _, m := range members {
		if m.Voter && m.ID != id {
			voters++
			if m.Alive {
				live++
			}
		}
	}
	return live, voters
}

// finishRemoval takes a removed member out of the Raft configuration. It needs no check: the
// removal was decided, and each voter that has ended makes the majority harder to reach.
func (n *Node) finishRemoval(s raft.Server) error {
	if string(s.ID) == n.ID() {
		n.raft.LeadershipTransfer()
		return nil
	}
	return n.settle(n.raft.RemoveServer(s.ID, 0, enqueueTimeout))
}

// ended reports whether a member was removed and has left the Raft configuration. Until it has,
// its vote may be needed.
func (n *Node) ended(id string) bool {
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
