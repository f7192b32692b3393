package simtest

import (
	"testing"
	"testing/synctest"
	"time"
)

// Members that start together, in any order, are one cluster soon.
func TestBootstrapTogether(t *testing.T) {
	t.Parallel()
	slowest := time.Duration(0)
	for i := range 30 {
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
				t.Logf("took %v", took)
			}
			w.untilAllIssue(recovery)
		})
	}
	t.Logf("at most %v from the start of the last to a leader", slowest)
}
