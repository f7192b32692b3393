package simtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// voters returns the numbers of voters and nonvoters as the leader sees them.
func (w *world) voters() (voters, nonvoters int) { return w.leader().voters() }

// voters returns the numbers of voters and nonvoters as this node sees them.
func (n *node) voters() (voters, nonvoters int) {
	for _, m := range n.proc().member.Node().Members() {
		if m.Voter {
			voters++
		} else {
			nonvoters++
		}
	}
	return voters, nonvoters
}

// untilVoters waits until all members agree on the number of voters, because a change that only the
// leader knows may be lost with the leader.
func (w *world) untilVoters(want int) {
	w.Helper()
	w.until(30*time.Second, fmt.Sprintf("all members have %d voters", want), func() bool {
		for _, n := range w.live() {
			if voters, nonvoters := n.voters(); voters != want || nonvoters != 0 {
				return false
			}
		}
		return true
	})
}

func TestMembersAreAddedUnderLoad(t *testing.T) {
	t.Parallel()
	simulate(t, options{timing: eager}, func(w *world) {
		w.commit(4000) // more than the log keeps, which makes a new member need a snapshot
		w.pass(time.Minute)
		for size := 4; size <= 5; size++ {
			n := w.addNode(0).start()
			w.until(recovery, "the new member is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
			w.untilIssue(recovery, n)
			if _, voter := n.proc().member.Node().IsMember(); voter {
				t.Error("the new member votes before it was stable for a while")
			}
			w.untilVoters(size)
			if n.installed.Load() == 0 {
				t.Error("the new member got no snapshot")
			}
		}
		// Five voters tolerate the loss of two.
		w.leader().crash()
		w.leader().crash()
		undisturbed(w.live(), time.Minute)
		w.startAll()
		w.untilAllIssue(recovery)
	})
}

func TestNonvoterWithoutReplicationIsNotPromoted(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		n := w.addNode(0)
		w.net.part([]*node{n}, w.live(), raftPlane)
		n.start()
		w.until(recovery, "the new member is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
		w.pass(time.Duration(depth.Of(1, 5)) * time.Minute)
		if voters, _ := w.voters(); voters != 3 {
			t.Errorf("%d voters, want 3", voters)
		}
		w.net.heal()
		w.untilVoters(4)
		w.untilAllIssue(recovery)
	})
}

// The leader cannot remove itself. It transfers leadership first, as the server
// requires.
func TestRemovalOfTheLeader(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		w.pass(time.Minute)
		gone := w.leader()
		id := gone.proc().member.Node().ID()
		w.until(recovery, "the leader is removed", func() bool {
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			raft := w.leader().proc().member.Node()
			err := raft.Remove(ctx, id, false)
			if errors.Is(err, cluster.ErrNotLeader) && raft.ID() == id {
				_, _ = raft.TransferLeadership(ctx, "")
			}
			return err == nil
		})
		// The removed member searches for members every 10 s, and queries them while it knows no leader.
		w.until(2*recovery, "the removed member notices", func() bool { return gone.failed() != nil })
		if err := gone.failed(); !errors.Is(err, peer.ErrRemoved) {
			t.Errorf("the removed member failed with %v, want an ErrRemoved", err)
		}
		undisturbed(w.live(), time.Minute)

		// The removed member returns with its data, without an effect.
		term := w.leader().proc().member.Node().Term()
		gone.failure = nil
		gone.start()
		undisturbed(w.others(gone), time.Minute)
		if now := w.leader().proc().member.Node().Term(); now != term {
			t.Errorf("the term changed from %d to %d", term, now)
		}
		w.untilVoters(2)
		if gone.proc() != nil {
			t.Errorf("the removed member still runs: %v", gone.proc().member.Ready())
		}
	})
}
