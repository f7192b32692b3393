package simtest

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
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

// cuts are the faults of the network between two parts of the members.
var cuts = []struct {
	what string
	do   func(w *world, few, rest []*node)
}{
	{"part all traffic", func(w *world, few, rest []*node) { w.net.part(few, rest, allPlanes...) }},
	{"block all traffic from them", func(w *world, few, rest []*node) { w.net.block(few, rest, allPlanes...) }},
	{"block all traffic to them", func(w *world, few, rest []*node) { w.net.block(rest, few, allPlanes...) }},
	{"part Raft only", func(w *world, few, rest []*node) { w.net.part(few, rest, raftPlane) }},
	{"part gossip only", func(w *world, few, rest []*node) { w.net.part(few, rest, gossipPlane) }},
	{"part calls only", func(w *world, few, rest []*node) { w.net.part(few, rest, apiPlane) }},
	{"lose a share of the traffic of one kind", func(w *world, _, _ []*node) { w.net.lose(0.05+0.4*w.rng.Float64(), allPlanes[w.rng.IntN(3)]) }},
}

// partition causes a random fault of the network.
func (w *world) partition() {
	few, rest := w.parts()
	w.cut(max(0, w.rng.IntN(1+len(cuts))-1), few, rest) // the first one twice as often
}

// parts draws two parts of the running members, of which there are two at least.
func (w *world) parts() (few, rest []*node) {
	nodes := w.live()
	w.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	size := 1 + w.rng.IntN(len(nodes)/2)
	few, rest = nodes[:size], nodes[size:]
	if l := w.leaderNow(); l != nil && w.rng.IntN(3) == 0 {
		few, rest = []*node{l}, w.others(l)
	}
	return few, rest
}

func (w *world) cut(kind int, few, rest []*node) {
	cuts[kind].do(w, few, rest)
	names := ""
	for _, n := range few {
		names += " " + n.name
	}
	w.log.logger("test").Info("fault", "what", cuts[kind].what, "of", names)
}
