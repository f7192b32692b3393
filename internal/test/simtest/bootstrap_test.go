package simtest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// Members that start together, in any order, soon form one cluster.
func TestBootstrapTogether(t *testing.T) {
	t.Parallel()
	slowest := time.Duration(0)
	for i := range depth.Of(10, 30) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{members: 3 + i%2*2})
			for range w.members {
				w.addNode(w.members)
			}
			for _, k := range w.rng.Perm(w.members) {
				w.nodes[k].start()
				if i%4 > 1 {
					w.pass(w.between(0, 300*time.Millisecond))
				}
			}
			took := w.until(2*time.Minute, "there is a leader", func() bool { return w.leaderNow() != nil })
			slowest = max(slowest, took)
			if took > 10*time.Second {
				t.Logf("bootstrap took %v", took)
			}
			w.untilAllIssue(recovery)
		})
	}
	t.Logf("at most %v from the last start to a leader", slowest)
}

// A new cluster, and a cluster of one restarted member, elect a leader without an election timeout.
func TestFirstElectionNeedsNoTimeout(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3, 5} {
		simulate(t, options{members: members, idle: true}, func(w *world) {
			won := func() map[leadership.Cause]uint64 { return w.leader().proc().member.Node().ElectionsWon() }
			if by := won(); by[leadership.Start] != 1 || by[leadership.Timeout] != 0 {
				w.Errorf("new cluster of %d members: elections = %v, want one by start", members, by)
			}
			if members > 1 {
				return
			}
			for range 10 {
				w.crashAll()
				w.pass(w.between(0, time.Minute))
				w.startAll()
				took := w.untilAllIssue(recovery)
				if by := won(); took > 300*time.Millisecond || by[leadership.Start] != 1 {
					w.Errorf("after a restart: IDs after %v, elections = %v, want one by start", took, by)
				}
			}
		})
	}
}
