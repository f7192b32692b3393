package allocator_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// periods sets up the rig's granter with a first period that ends in 1 min, and a second period that the
// granter enters by its own clock, which is behind by that much.
func periods(r *sequenceRig, behind time.Duration) (end int64) {
	end = r.clock.read().Wall + time.Minute.Milliseconds()
	r.blocks.period, r.blocks.periodEnd = 20260701, end
	r.blocks.before = func() error {
		if r.blocks.period == 20260701 && r.clock.read().Wall-behind.Milliseconds() >= end {
			r.blocks.period, r.blocks.periodEnd, r.blocks.granted, r.blocks.last = 20260702, end+86_400_000, 0, 0
		}
		return nil
	}
	return end
}

func TestPeriodEnds(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond; periods(r, 0) }, func(r *sequenceRig) {
		r.expect(1, 1)
		time.Sleep(time.Minute - 11*time.Millisecond)
		r.expect(1, 2)
		time.Sleep(time.Millisecond)
		if took := timed(func() { r.expect(1, 1) }); took != 10*time.Millisecond {
			r.Errorf("waited %v", took)
		}
		if n := r.next(1); n.Period != 20260702 || n.First != 2 {
			r.Errorf("%+v", n)
		}
		if s := r.sequence.Stats(); s.Skipped != 98 || s.Blocks != 2 {
			r.Errorf("%+v", s)
		}
	})
}

// A block that was requested before its period ended, and granted afterwards, is not proof that the period
// continues.
func TestPeriodEndsDuringARequest(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond; periods(r, 0) }, func(r *sequenceRig) {
		time.Sleep(time.Minute - 6*time.Millisecond)
		if n := r.next(1); n.Period != 20260702 || n.First != 1 || r.sequence.Stats().Blocks != 2 {
			r.Errorf("%+v, %+v", n, r.sequence.Stats())
		}
	})
}

func TestGranterWithClockBehind(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { periods(r, 250*time.Millisecond) }, func(r *sequenceRig) {
		r.next(1)
		time.Sleep(time.Minute)
		asked := len(r.blocks.requests())
		var seen int
		for seen = 0; r.next(1).Period == 20260701; seen++ {
			time.Sleep(10 * time.Millisecond)
		}
		if seen < 25 || seen > 31 { // requests at 0, 100, 200 and 300 ms
			r.Errorf("%d numbers, one each 10 ms", seen)
		}
		if n := len(r.blocks.requests()) - asked; n != 4 {
			r.Errorf("requested %d times", n)
		}
	})
}

func TestNoNumberOfAPastPeriodWithoutACluster(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { periods(r, 0) }, func(r *sequenceRig) {
		r.next(1)
		work := r.blocks.before
		r.blocks.set(func() { r.blocks.before = func() error { return errDown } })
		time.Sleep(time.Minute)
		for range 3 {
			if n, err := r.sequence.Next(r.Context(), 1); !errors.Is(err, errDown) {
				r.Errorf("%+v, %v", n, err)
			}
		}
		r.blocks.set(func() { r.blocks.before = work })
		if n := r.next(1); n.Period != 20260702 || n.First != 1 {
			r.Errorf("%+v", n)
		}
	})
}

// knowledge is information other than grants.
type knowledge struct {
	generation uint64
	period     int32
	gone       bool
}

func (k *knowledge) current() (uint64, int32, bool) { return k.generation, k.period, !k.gone }

func TestOutdatedBlocksAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		granted  func(*blocks) // changes the grants before the second call
		known    knowledge
		revision uint64
		first    int64
		err      error
	}{
		"no change":           {nil, knowledge{generation: 2}, 0, 2, nil},
		"another one changed": {nil, knowledge{generation: 1}, 1, 2, nil},
		"replica lags":        {nil, knowledge{generation: 0}, 1, 2, nil},
		"new generation":      {func(c *blocks) { c.generation++ }, knowledge{generation: 2}, 1, 101, nil},
		"set back":            {func(c *blocks) { c.generation++; c.granted = 0 }, knowledge{generation: 2}, 1, 1, nil},
		"new period":          {func(c *blocks) { c.period = 20260702; c.granted = 0 }, knowledge{generation: 1, period: 20260702}, 1, 1, nil},
		"reset switched off":  {func(c *blocks) { c.generation++; c.period = 0 }, knowledge{generation: 2}, 1, 101, nil},
		"granter lags":        {nil, knowledge{generation: 2}, 1, 0, allocator.ErrOutdatedBlock},
		"gone":                {func(c *blocks) { c.before = func() error { return errUnknown } }, knowledge{gone: true}, 1, 0, errUnknown},
		"gone, granted":       {nil, knowledge{gone: true}, 1, 0, allocator.ErrOutdatedBlock},
	} {
		t.Run(name, func(t *testing.T) {
			var known knowledge
			var revision atomic.Uint64
			runSequence(t, func(r *sequenceRig) {
				r.cfg.Current, r.cfg.Revision = known.current, &revision
				r.blocks.period = 20260701
			}, func(r *sequenceRig) {
				r.expect(1, 1)
				if c.granted != nil {
					r.blocks.set(func() { c.granted(r.blocks) })
				}
				known = c.known
				revision.Add(c.revision)
				if last, ok := r.sequence.Last(); ok != (c.first == 2) || ok && last != 1 {
					r.Errorf("last %d, %v", last, ok)
				}
				n, err := r.sequence.Next(r.Context(), 1)
				if !errors.Is(err, c.err) || n.First != c.first {
					r.Errorf("%+v, %v", n, err)
				}
				if asked := len(r.blocks.requests()); asked > 4 {
					r.Errorf("requested %d times", asked)
				}
			})
		})
	}
}

func TestDropBefore(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond }, func(r *sequenceRig) {
		r.expect(80, 1)                  // requests the next block
		time.Sleep(7 * time.Millisecond) // the block is granted, and on its way
		r.sequence.DropBefore(r.blocks.other(1))
		time.Sleep(time.Second)
		// The block in progress was dropped too, and no caller waits for the block after it.
		r.expect(1, r.blocks.grant(2).First)
		if s := r.sequence.Stats(); s.Skipped != 20+100 || s.Waited != 1 {
			r.Errorf("%+v", s)
		}
	})
}

// A block that is granted after the token is used, even if it was on its way.
func TestDropBeforeKeepsLaterBlocks(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond }, func(r *sequenceRig) {
		r.expect(80, 1) // requests the next block
		token := r.blocks.other(1)
		time.Sleep(7 * time.Millisecond) // the block is granted, and on its way
		r.sequence.DropBefore(token)
		r.expect(1, 102)
		if s := r.sequence.Stats(); s.Skipped != 20 || s.Blocks != 2 {
			r.Errorf("%+v", s)
		}
	})
}

// Callers that wait for a block keep waiting while numbers are issued by other means.
func TestWaitingWhileOvertaken(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond }, func(r *sequenceRig) {
		done := make(chan int64)
		go func() { done <- r.next(1).First }()
		for range 10 {
			time.Sleep(7 * time.Millisecond)
			r.sequence.DropBefore(r.blocks.other(1))
			time.Sleep(3 * time.Millisecond)
		}
		if first := <-done; first <= 10*100 {
			r.Errorf("%d was overtaken", first)
		}
	})
}

// Return returns the rest of the last block, and the Sequence continues with the same numbers if no other
// member took them.
func TestReturn(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.expect(30, 1)
		if err := r.sequence.Return(r.Context()); err != nil {
			r.Error(err)
		}
		r.expect(1, 31)
		r.blocks.other(1)
		if err := r.sequence.Return(r.Context()); !errors.Is(err, allocator.ErrNotLastBlock) {
			r.Error(err)
		}
		r.expect(1, 132)
		if s := r.sequence.Stats(); s.Skipped != 99 || s.Taken != 32 {
			r.Errorf("%+v", s)
		}
	})
}

// If there are two blocks, the second one is returned, and no number of the old block is issued after the next
// grant.
func TestReturnOfTwo(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(90)
		r.settle() // the next block is in memory
		if err := r.sequence.Return(r.Context()); err != nil {
			r.Fatal(err)
		}
		if s := r.sequence.Stats(); !slices.Equal(r.blocks.returned(), []uint64{100}) || s.Skipped != 10 {
			r.Fatalf("returned %v, %+v", r.blocks.returned(), s)
		}
		r.expect(60, 101)
		r.expect(60, 161)
	})
}
