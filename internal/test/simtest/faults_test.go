package simtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// fault is a kind of fault that a world of [TestEveryFault] has.
type fault struct {
	what  string
	least int // voters that it needs
	do    func(w *world)
}

// faults lists the kinds. Each world has every kind that its voters allow, in a drawn order.
var faults = slices.Concat(cutFaults(), []fault{
	{"crash", 1, func(w *world) { w.running().crash() }},
	{"power cut", 1, func(w *world) { w.running().unplug() }},
	{"ordered end", 1, func(w *world) { _ = w.running().stop() }}, // without a leader, it cannot release its workers
	{"crash of all", 1, (*world).crashAll},
	{"transfer of leadership", 2, func(w *world) {
		w.calm()
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, _ = w.leader().proc().member.Node().TransferLeadership(ctx, "")
	}},
	{"snapshot", 1, func(w *world) {
		w.calm()
		for _, n := range w.live() {
			_ = n.proc().member.Node().Snapshot() // a busy one refuses
		}
	}},
	{"clock off by a little", 1, func(w *world) { w.anyone().clock.set(w.between(-240*time.Millisecond, 240*time.Millisecond)) }},
	{"clock off by up to an hour", 3, func(w *world) {
		w.anyone().clock.set([]time.Duration{-time.Hour, -5 * time.Second, 2 * time.Second, time.Hour}[w.rng.IntN(4)])
		w.pass(w.between(0, 5*time.Second))
	}},
	{"observed clock lowered by an operator", 1, func(w *world) {
		w.calm()
		w.leader().clock.set(w.between(-240*time.Millisecond, 0))
		w.until(recovery, "the observed clock is set", func() bool {
			_, err := w.leader().proc().member.ObserveClock(w.Context(), true)
			return err == nil
		})
	}},
	{"nonvoter that is down", 1, func(w *world) {
		w.calm()
		n := w.addNode(0).start()
		w.until(recovery, "the new member is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
		w.down, w.downID = n, n.proc().member.Node().ID()
		n.crash()
	}},
})

func cutFaults() (all []fault) {
	for kind, c := range cuts {
		all = append(all, fault{c.what, 2, func(w *world) {
			if len(w.live()) < 2 {
				w.calm()
			}
			few, rest := w.parts()
			w.cut(kind, few, rest)
		}})
	}
	return all
}

// anyone draws a member, which may be down.
func (w *world) anyone() *node { return w.nodes[w.rng.IntN(len(w.nodes))] }

// running draws a member that runs.
func (w *world) running() *node {
	if len(w.live()) == 0 {
		w.calm()
	}
	live := w.live()
	return live[w.rng.IntN(len(live))]
}

// calm ends all faults. A nonvoter that is down stays down.
func (w *world) calm() {
	w.Helper()
	w.net.heal()
	for _, n := range w.nodes {
		n.clock.set(0)
		if n.proc() == nil && n != w.down {
			n.start()
		}
	}
	w.until(2*recovery, "all voters follow", func() bool {
		leader := w.leaderNow()
		return leader != nil && !slices.ContainsFunc(w.nodes, func(n *node) bool {
			return n != leader && n != w.down && !n.proc().member.Node().InTouch()
		})
	})
}

// discharge removes the nonvoter that is down.
func (w *world) discharge() {
	if w.down == nil {
		return
	}
	w.Helper()
	w.until(2*recovery, "the nonvoter is removed", func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		const force = true // the leader may still count a voter as failed
		_ = w.leader().proc().member.Node().Remove(ctx, w.downID, force)
		_, nonvoters := w.voters()
		return nonvoters == 0
	})
	w.roster.Lock()
	defer w.roster.Unlock()
	w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n == w.down })
	w.down = nil
}

// TestEveryFault has clusters of one to five voters under every kind of fault, two at a time, with clients of all kinds of
// sequences. The log of every second cluster commits within milliseconds.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	var counted sync.Mutex
	happened := make(map[string]int)
	t.Run("voters", func(t *testing.T) {
		for voters := 1; voters <= 5; voters++ {
			t.Run(fmt.Sprint(voters), func(t *testing.T) {
				t.Parallel()
				o := options{
					members: voters - 1 + voters%2, number: uint64(voters), quick: voters%2 == 0, maxWindow: 5 * time.Second,
					sequences: ofAllKinds(), pace: 400 * time.Millisecond, timing: cluster.Timing{SnapshotThreshold: 64},
				}
				simulate(t, o, func(w *world) {
					if voters%2 == 0 { // a cluster begins with an odd number
						w.addNode(0).start()
						w.untilVoters(voters)
					}
					w.nodes[0].expect = 0 // the node joins the others when it starts again
					for range depth.Of(1, 20) {
						deck := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.least > voters })
						w.rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
						for pair := range slices.Chunk(deck, 2) {
							for _, f := range pair {
								f.do(w)
								counted.Lock()
								happened[f.what]++
								counted.Unlock()
								w.pass(w.between(0, 3*time.Second))
							}
							w.calm()
							w.discharge()
							w.untilAllIssue(2 * recovery)
						}
					}
				})
			})
		}
	})
	var lines []string
	for _, f := range faults {
		lines = append(lines, fmt.Sprintf("%s: %d", f.what, happened[f.what]))
		if happened[f.what] == 0 && !t.Failed() {
			t.Errorf("%s never happened", f.what)
		}
	}
	t.Logf("faults in clusters of one to five voters: %s", strings.Join(lines, ", "))
}
