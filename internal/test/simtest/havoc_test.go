package simtest

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// scarce is a cluster in which all faults of workers happen soon. It has four
// workers for four members, short windows, and many snapshots.
var scarce = options{
	layout: few(2), maxWindow: 3 * time.Second,
	timing: cluster.Timing{SnapshotThreshold: 16}, sequences: ofAllKinds(),
}

func TestHavoc(t *testing.T) {
	t.Parallel()
	simulate(t, scarce, func(w *world) { w.havoc(depth.Of(8, 60)) })
}

// In addition to other faults, one clock at a time is off by seconds or an hour. Between two such
// clocks, the members forget the readings of the first, because a reading counts for 30 s.
func TestHavocWithAWrongClock(t *testing.T) {
	t.Parallel()
	simulate(t, options{members: 5, maxWindow: 5 * time.Second, sequences: ofAllKinds(), pace: 300 * time.Millisecond}, func(w *world) {
		slowest := time.Duration(0)
		for range depth.Of(2, 25) {
			wrong := w.nodes[w.rng.IntN(len(w.nodes))]
			wrong.clock.set([]time.Duration{-time.Hour, -5 * time.Second, -2 * time.Second, 2 * time.Second, time.Hour}[w.rng.IntN(5)])
			for range w.rng.IntN(4) {
				w.mishap(4) // the kinds without an effect on clocks
				w.pass(w.between(0, 5*time.Second))
			}
			w.net.heal()
			w.startAll()
			slowest = max(slowest, w.untilIssue(2*recovery, w.others(wrong)...))
			wrong.clock.set(0)
			slowest = max(slowest, w.untilAllIssue(2*recovery))
			w.pass(35 * time.Second)
		}
		t.Logf("all issued again within %v", slowest)
	})
}

// havoc causes several faults at once, repeatedly.
func (w *world) havoc(rounds int) {
	w.Helper()
	w.addNode(0).start()
	w.untilVoters(4)
	slowest := time.Duration(0)
	for range rounds {
		for range 1 + w.rng.IntN(4) {
			w.mishap(9)
			w.pass(w.between(0, 3*time.Second))
		}
		w.net.heal()
		w.startAll()
		if w.rng.IntN(3) == 0 {
			slowest = max(slowest, w.untilAllIssue(recovery+w.maxWindow)) // no worker may be free
		}
	}
	slowest = max(slowest, w.untilAllIssue(recovery+w.maxWindow))
	w.Logf("all issued again within %v", slowest)
}

// mishap causes one fault. kinds limits the choice to the first kinds.
func (w *world) mishap(kinds int) {
	n := w.nodes[w.rng.IntN(len(w.nodes))]
	running := n.proc() != nil
	switch kind := w.rng.IntN(kinds); {
	case kind < 2 && len(w.live()) > 1:
		w.partition()
	case kind == 2:
		n.crash()
	case kind == 3 && running:
		_ = n.stop() // without a leader, it cannot release its workers
	case kind == 4 && !running:
		n.start()
	case kind == 5: // within the allowed offset
		n.clock.set(w.between(-240*time.Millisecond, 240*time.Millisecond))
	case kind == 6 && running: // a busy node refuses
		_ = n.proc().member.Node().Snapshot()
	case kind > 6:
		// Its lane loses the leader, and another process acquires its worker after the window has ended.
		w.net.part([]*node{n}, w.nodes, apiPlane)
		if other := w.nodes[w.rng.IntN(len(w.nodes))]; other != n && other.proc() != nil {
			w.pass(w.between(0, w.maxWindow))
			other.crash()
			other.start()
		}
	}
}
