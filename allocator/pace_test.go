package allocator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// No call waits for a block once the load is steady, nor when the load grows tenfold from one millisecond to
// the next.
func TestTenfoldJumpCausesNoWait(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond}[:depth.Little(1, 2)] {
		for _, c := range []struct {
			before, after int
			settle        time.Duration // time from the start of a block to the jump
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
					began, _ := r.load(c.before, 10*time.Second) // the pacer learns how long the first blocks last
					waited, longest := r.load(c.before, c.settle)
					if waited > 0 {
						r.Errorf("steady: %d calls waited, up to %v", waited, longest)
					}
					r.Logf("%v, steady: %d calls waited", delay, waited)
					waited, longest = r.load(c.after, 5*time.Second)
					if waited > 0 {
						r.Errorf("after the jump: %d calls waited, up to %v", waited, longest)
					}
					r.Logf("%v, tenfold: %d calls waited", delay, waited)
					r.Logf("%d waited in the first 10 s; size %d, %d blocks", began, r.sequence.Stats().BlockSize, r.sequence.Stats().Blocks)
				})
			})
		}
	}
}

// The first block is as large as configured, or as large as a caller needs.
func TestFirstBlock(t *testing.T) {
	for _, c := range []struct{ configured, count, want uint64 }{{0, 1, 100}, {10, 1, 10}, {1000, 1, 1000}, {10, 30, 30}} {
		runSequence(t, func(r *sequenceRig) { r.cfg.FirstBlock = c.configured }, func(r *sequenceRig) {
			r.next(c.count)
			if got := r.blocks.requests()[0].count; got != c.want {
				r.Errorf("%d numbers requested, want %d", got, c.want)
			}
		})
	}
}

// At a slow pace, the next block is requested when a fifth of the current block is left.
func TestNextBlockIsRequestedAtAFifth(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		for taken := 1; taken <= 300; taken++ {
			r.next(1)
			r.settle()
			want := 1 + (taken+20)/100
			if asked := len(r.blocks.requests()); asked != want {
				r.Fatalf("requested %d times after %d numbers", asked, taken)
			}
			time.Sleep(time.Second)
		}
	})
}

// If a fifth of a block would last less than two round trips at the present pace, the next block is requested
// earlier.
func TestSlowBlockIsRequestedEarlier(t *testing.T) {
	runSequence(t, func(r *sequenceRig) {
		r.blocks.delay, r.blocks.max = 50*time.Millisecond, 1000
		r.blocks.forge = func(b allocator.Block) allocator.Block { b.MinCount = 1000; return b }
	}, func(r *sequenceRig) {
		r.load(5000, time.Second) // 200 ms per block; a fifth is 40 ms
		waited, _ := r.load(5000, 10*time.Second)
		if blocks := r.sequence.Stats().Blocks; waited > 0 || blocks > 60 {
			r.Errorf("%d calls waited, %d blocks", waited, blocks)
		}
	})
}

// In steady state, a block lasts for about the configured time. While the load changes slowly, each block has
// at most twice and at least half as many numbers as the block before.
func TestBlocksAdapt(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 5 * time.Millisecond }, func(r *sequenceRig) {
		r.next(1)
		r.load(1000, time.Minute)
		asked := len(r.blocks.requests())
		if waited, _ := r.load(1000, 2*time.Minute); waited > 0 {
			r.Errorf("%d calls waited", waited)
		}
		if n := len(r.blocks.requests()) - asked; n < 11 || n > 13 {
			r.Errorf("%d blocks in 2 minutes", n)
		}
		for _, perSecond := range []int{1500, 2500, 4000, 1000, 300, 100} {
			if waited, _ := r.load(perSecond, 30*time.Second); waited > 0 {
				r.Errorf("%d per second: %d calls waited", perSecond, waited)
			}
		}
		r.load(100, 15*time.Minute)
		sizes := r.blocks.requests()[asked-1:]
		for i, now := range sizes[1:] {
			if before := sizes[i]; now.count > 2*before.count || now.count < before.count/2 {
				r.Errorf("%d after %d", now.count, before.count)
			}
		}
		if last := sizes[len(sizes)-1].count; last > 2000 {
			r.Errorf("%d numbers at 100 per second", last)
		}
	})
}

// A burst of calls makes blocks larger, but by less than a lasting load would.
func TestABurstIsNotALoad(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		for range 90 {
			r.next(1)
		}
		r.settle()
		for _, q := range r.blocks.requests() {
			if q.count > 1000 {
				r.Errorf("requested %d", q.count)
			}
		}
	})
}

// A load that begins from nothing makes few calls wait.
func TestALoadFromNothing(t *testing.T) {
	for delay, limit := range map[time.Duration]uint64{5 * time.Millisecond: 10, 50 * time.Millisecond: 10} {
		runSequence(t, func(r *sequenceRig) { r.blocks.delay = delay }, func(r *sequenceRig) {
			waited, longest := r.load(100_000, 5*time.Second)
			if waited > limit || longest > delay {
				r.Errorf("%v: %d calls waited, up to %v", delay, waited, longest)
			}
			r.Logf("%v, from nothing: %d calls waited, up to %v", delay, waited, longest)
		})
	}
}

// The same holds for a hundredfold jump. This is the only promise for such a jump.
func TestHundredfoldJump(t *testing.T) {
	for delay, limit := range map[time.Duration]uint64{5 * time.Millisecond: 0, 50 * time.Millisecond: 3} {
		for _, settle := range []time.Duration{60 * time.Second, 63 * time.Second, 66 * time.Second, 69 * time.Second}[:depth.Little(1, 4)] {
			runSequence(t, func(r *sequenceRig) { r.blocks.delay = delay }, func(r *sequenceRig) {
				r.next(1)
				r.load(1000, settle)
				waited, longest := r.load(100_000, 3*time.Second)
				if waited > limit {
					r.Errorf("%v, %v: %d calls waited, up to %v", delay, settle, waited, longest)
				}
				r.Logf("%v, hundredfold: %d calls waited, up to %v, %v into blocks", delay, waited, longest, settle)
			})
		}
	}
}

// While numbers are issued by other means, blocks are as small as possible, because most would be skipped.
func TestBlocksAreSmallWhileOvertaken(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.load(1000, 30*time.Second)
		if size := r.sequence.Stats().BlockSize; size < 5000 {
			r.Fatalf("blocks of %d numbers at 1000/s", size)
		}
		r.sequence.DropBefore(r.blocks.other(1))
		r.next(1)
		asked := r.blocks.requests()
		if last := asked[len(asked)-1]; last.count != r.blocks.min {
			r.Errorf("requested %d numbers, want %d", last.count, r.blocks.min)
		}
	})
}
