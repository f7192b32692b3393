package simtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// removed reports whether no member has this ID in its configuration.
func (w *world) removed(id string) bool {
	for _, n := range w.live() {
		node := n.proc().member.Node()
		if _, err := node.Member(id); !errors.Is(err, cluster.ErrUnknownMember) {
			return false
		}
	}
	return true
}

// remove removes a member. patience is the timeout of the first call.
func (w *world) remove(id string, patience time.Duration) {
	w.Helper()
	w.until(recovery, "the member is removed", func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), patience)
		defer cancel()
		patience = 5 * time.Second
		return w.tryRemove(ctx, id, false)
	})
}

// tryRemove requests the removal of a member from the leader, and reports whether it is removed. If the member itself has become the
// leader, tryRemove makes another one the leader.
func (w *world) tryRemove(ctx context.Context, id string, force bool) bool {
	leader := w.leader().proc().member.Node()
	if leader.ID() == id {
		_, _ = leader.TransferLeadership(ctx, "")
		return false
	}
	err := leader.Remove(ctx, id, force)
	return err == nil || errors.Is(err, cluster.ErrUnknownMember)
}

// A nonvoter is removed while its promotion becomes due. It never becomes a voter afterwards, and
// the three others still tolerate the loss of one.
func TestRemovalOfFreshNonvoters(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		for round := range depth.Of(12, 40) {
			n := w.addNode(0).start()
			w.until(recovery, "the new member is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
			id := n.proc().member.Node().ID()
			w.pass(2*time.Second + time.Duration(w.rng.Int64N(int64(4*time.Second))))
			patience := 5 * time.Second
			if round%4 == 1 {
				patience = time.Duration(w.rng.Int64N(int64(5 * time.Millisecond)))
			}
			if round%4 == 2 { // also over a change of leadership
				leader := w.leader()
				go func() { _, _ = leader.proc().member.Node().TransferLeadership(w.Context(), "") }()
			}
			w.remove(id, patience)
			w.until(2*recovery, "all members know of the removal", func() bool { return n.proc() == nil && w.removed(id) })
			for range 100 { // longer than a promotion takes
				w.pass(100 * time.Millisecond)
				if !w.removed(id) {
					t.Fatalf("round %d: the removed member is back\n%s", round, w.status())
				}
			}
		}
		w.follower().crash()
		w.pass(10 * time.Second)
		w.untilIssue(recovery, w.live()...)
	})
}

// A leader crashes between the two steps of a removal, so that a removed voter remains. The
// next leader removes it, although it needs the vote of every voter.
func TestRemovedVoterIsTakenOut(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		gone, leader := w.follower(), w.leader()
		id := gone.proc().member.Node().ID()
		command := &commandv1.Command{ClockAtMs: time.Now().UnixMilli(), Body: &commandv1.Command_RemoveMember{
			RemoveMember: &commandv1.RemoveMember{Id: id},
		}}
		command.Version = fsm.MinVersion(command)
		data, err := fsm.Encode(command)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leader.proc().member.Node().Propose(w.Context(), data); err != nil {
			t.Fatal(err)
		}
		leader.crash() // the removed voter has to vote for the new leader
		w.until(recovery, "the removed voter is taken out", func() bool { return gone.proc() == nil })
		leader.start()
		w.untilVoters(2)
		w.untilAllIssue(recovery)
	})
}
