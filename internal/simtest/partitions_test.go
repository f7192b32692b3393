package simtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/depth"
)

// recovery is the time after the last fault within which every member issues again.
const recovery = 10 * time.Second

func TestHourOfPartitions(t *testing.T) {
	t.Parallel()
	span := time.Duration(depth.Of(2, 60)) * time.Minute
	t.Run("long windows", func(t *testing.T) {
		simulate(t, options{sequences: ofAllKinds(), pace: 300 * time.Millisecond}, func(w *world) { w.partitions(span) })
	})
	// With short windows, no member can issue for long without the leader.
	t.Run("short windows", func(t *testing.T) {
		simulate(t, options{members: 5, maxWindow: 3 * time.Second, sequences: ofAllKinds(), pace: 300 * time.Millisecond}, func(w *world) { w.partitions(span / 2) })
	})
}

func (w *world) partitions(span time.Duration) {
	faults, slowest := 0, time.Duration(0)
	for end := time.Now().Add(span); time.Now().Before(end); {
		for range 1 + w.rng.IntN(3) { // one after the other or at the same time
			w.partition()
			faults++
			w.pass(w.between(time.Second, 40*time.Second))
		}
		w.net.heal()
		slowest = max(slowest, w.untilAllIssue(recovery))
		w.pass(w.between(0, 20*time.Second))
	}
	w.Logf("%d faults, all issued again within %v", faults, slowest)
}

// between draws a duration.
func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

// partition causes a random fault of the network.
func (w *world) partition() {
	nodes := w.live()
	w.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	size := 1 + w.rng.IntN(len(nodes)/2)
	few, rest := nodes[:size], nodes[size:]
	if l := w.leaderNow(); l != nil && w.rng.IntN(3) == 0 {
		few, rest = []*node{l}, w.others(l)
	}
	what := ""
	switch w.rng.IntN(8) {
	case 0, 1:
		what = "part all traffic"
		w.net.part(few, rest, allPlanes...)
	case 2:
		what = "block all traffic from them"
		w.net.block(few, rest, allPlanes...)
	case 3:
		what = "block all traffic to them"
		w.net.block(rest, few, allPlanes...)
	case 4:
		what = "part Raft only"
		w.net.part(few, rest, raftPlane)
	case 5:
		what = "part gossip only"
		w.net.part(few, rest, gossipPlane)
	case 6:
		what = "part calls only"
		w.net.part(few, rest, apiPlane)
	case 7:
		what = "lose a share of the traffic of one kind"
		w.net.lose(0.05+0.4*w.rng.Float64(), allPlanes[w.rng.IntN(3)])
	}
	names := ""
	for _, n := range few {
		names += " " + n.name
	}
	w.log.logger("test").Info("fault", "what", what, "of", fmt.Sprint(names))
}
