package simtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
)

// short is the longest window of simulations that outlast one, and warm is long enough for slow start to reach it.
const short, warm = 2 * time.Minute, 3 * time.Minute

func TestLostQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		survivor func(*world) *node
	}{
		{"a follower survives", (*world).follower},
		{"the leader survives", (*world).leader},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, options{maxWindow: short}, func(w *world) {
				w.pass(warm)
				survivor := c.survivor(w)
				others := w.others(survivor)
				for _, n := range others {
					n.crash()
				}
				w.pass(time.Second) // an extension may just have been granted
				lane := survivor.proc().member.Lanes()[0].Lanes[0]
				served := time.Until(lane.ServeUntil)
				t.Logf("issues for %v", served.Round(time.Second))
				w.goesOnUntil(survivor, lane.ServeUntil)
				// A lane extends a window after half of it at the latest.
				if least := short * 2 / 5; served < least || served > short {
					t.Errorf("issued for %v, want %v to %v", served, least, short)
				}

				var ended *allocator.WindowEndedError
				if err := survivor.proc().issue(1, 0); !errors.As(err, &ended) {
					t.Errorf("issue() = %T: %v, want a WindowEndedError", err, err)
				} else if ended.Until.Sub(lane.ServeUntil).Abs() > time.Millisecond || ended.Cause == nil {
					t.Errorf("refused with %+v, window until %v", ended, lane.ServeUntil)
				}
				w.pass(short)
				if err := survivor.proc().issue(1, 0); !errors.As(err, &ended) {
					t.Errorf("issue() %v later = %v, want a WindowEndedError", short, err)
				}

				others[0].start()
				took := w.untilIssue(recovery, survivor, others[0])
				t.Logf("both issue again after %v", took)
			})
		})
	}
}

// goesOnUntil checks that a node issues without interruption until its window ends, and
// refuses from then on.
func (w *world) goesOnUntil(n *node, end time.Time) {
	w.Helper()
	p := n.proc()
	for time.Until(end) > time.Second {
		if err := p.issue(1, 0); err != nil {
			w.Fatalf("refused %v before its window ended: %v", time.Until(end), err)
		}
		w.pass(500 * time.Millisecond)
	}
	w.pass(time.Until(end) + time.Second)
	before := p.issued.Load()
	if late := time.Duration(before - end.UnixNano()); late > 0 {
		w.Errorf("issued %v after its window ended", late)
	}
	w.pass(5 * time.Second)
	if p.issued.Load() != before {
		w.Error("issued after its window ended")
	}
}

// A second member that was never promoted is lost. Its clock does not count, so the voter needs no comparison.
func TestSoleVoterServesBesideDeadNonvoter(t *testing.T) {
	t.Parallel()
	simulate(t, options{members: 1}, func(w *world) {
		voter := w.nodes[0]
		w.addNode(0).start()
		w.until(recovery, "there is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
		w.crashAll()
		voter.expect = 0 // 1 cannot be combined with seeds
		voter.start()
		w.untilIssue(recovery, voter)
		if voters, nonvoters := voter.voters(); voters != 1 || nonvoters != 1 {
			t.Errorf("%d voters and %d nonvoters, want 1 and 1", voters, nonvoters)
		}
		m := voter.proc().member
		if _, err := m.CreateSequence(w.Context(), plain("orders", relaxed), member.Force{}); err != nil {
			t.Error(err)
		}
		if _, err := m.ObserveClock(w.Context(), true); err != nil {
			t.Error(err)
		}
	})
}

// A voter that is gone counts as failed before gossip notices, in the view of every other member: its machine lost power, or
// an empty node runs at its addresses. A new leader does not count the others as failed.
func TestGoneVoterSoonCountsAsFailed(t *testing.T) {
	t.Parallel()
	// Gossip would take a minute.
	simulate(t, options{members: 5, idle: true, timing: cluster.Timing{PromoteAfter: time.Second, GossipProbe: 10 * time.Second}}, func(w *world) {
		w.pass(warm)
		followers := w.others(w.leader())
		dark, replaced := followers[0], followers[1]
		rest := []*node{w.leader(), followers[2], followers[3]}
		counts := func(alive int) func() bool {
			return func() bool {
				return !slices.ContainsFunc(rest, func(n *node) bool { return n.proc().member.Node().Quorum().Alive != alive })
			}
		}
		const soon = 20 * time.Second
		dark.unplug()
		w.until(soon, "the others count it as failed", counts(4))
		replaced.crash()
		replaced.empty()
		replaced.start()
		w.until(soon, "the others count the replaced one as failed", counts(3))
		dark.start()
		w.until(soon, "it counts again", counts(4))
		if _, err := w.leader().proc().member.Node().TransferLeadership(w.Context(), ""); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			w.pass(100 * time.Millisecond)
			for _, n := range rest {
				if q := n.proc().member.Node().Quorum(); q.Alive < 4 {
					t.Fatalf("%s counts %+v under a new leader", n.name, q)
				}
			}
		}
	})
}

// A voter whose Raft messages fail counts as failed, although gossip reaches it and it answers.
func TestVoterThatDoesNotReplicateCountsAsFailed(t *testing.T) {
	t.Parallel()
	// With a quick log, an election ends before the claims of before it.
	simulate(t, options{maxWindow: short, quick: true}, func(w *world) {
		w.pass(warm)
		cut := w.follower()
		others := w.others(cut)
		alive := func(want int) func() bool {
			return func() bool {
				return !slices.ContainsFunc(others, func(n *node) bool { return n.proc().member.Node().Quorum().Alive != want })
			}
		}
		w.net.part([]*node{cut}, others, raftPlane)
		w.until(10*time.Second, "the others count it as failed", alive(2))
		w.net.heal()
		w.until(10*time.Second, "the others count it again", alive(3))
		// After an outage, the others still announce that they stall. A leader proves that a majority replicates.
		leader := w.leader()
		rest := w.others(leader)
		leader.crash()
		rest[0].crash()
		w.pass(10 * time.Second)
		rest[0].start()
		for range 200 {
			w.pass(50 * time.Millisecond)
			for _, n := range rest {
				node := n.proc().member.Node()
				if q := node.Quorum(); node.LeadingTerm() != 0 && q.Alive < 2 {
					t.Fatalf("%s leads and counts %+v", n.name, q)
				}
			}
		}
	})
}
