package allocator_test

import (
	"fmt"
	"testing"
	"time"
)

// No call waits for a block once the load is steady, nor when it becomes ten times
// as much from one millisecond to the next.
func TestTenfoldJumpMakesNobodyWait(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond} {
		for _, c := range []struct {
			before, after int
			settle        time.Duration // how far into blocks the jump is
		}{
			{100, 1000, 60 * time.Second},
			{1000, 10_000, 60 * time.Second},
			{1000, 10_000, 63 * time.Second},
			{1000, 10_000, 67 * time.Second},
			{1000, 10_000, 68500 * time.Millisecond},
			{10_000, 100_000, 60 * time.Second},
		} {
			t.Run(fmt.Sprintf("%v/%d to %d after %v", delay, c.before, c.after, c.settle), func(t *testing.T) {
				runSequence(t, func(r *sequenceRig) { r.blocks.delay = delay }, func(r *sequenceRig) {
					r.next(1)
					began, _ := r.load(c.before, 10*time.Second) // what the first blocks last is learnt
					waited, longest := r.load(c.before, c.settle)
					if waited > 0 {
						r.Errorf("steady: %d calls waited, up to %v", waited, longest)
					}
					waited, longest = r.load(c.after, 5*time.Second)
					if waited > 0 {
						r.Errorf("after the jump: %d calls waited, up to %v", waited, longest)
					}
					r.Logf("%d waited in the first 10 s; size %d, %d blocks", began, r.sequence.Stats().BlockSize, r.sequence.Stats().Blocks)
				})
			})
		}
	}
}
