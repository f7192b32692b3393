package allocator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// closing closes the Sequence, within 10 s.
func (r *sequenceRig) closing() error {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	return r.sequence.Close(ctx)
}

func TestCloseReturnsTheTailOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(*sequenceRig)
		returns []uint64
		skipped uint64
	}{
		"nothing":                {func(*sequenceRig) {}, nil, 0},
		"a tail":                 {func(r *sequenceRig) { r.next(30) }, []uint64{70}, 0},
		"no tail":                {func(r *sequenceRig) { r.blocks.length = 100; r.next(100) }, nil, 0},
		"a tail and the next":    {func(r *sequenceRig) { r.next(90); r.settle() }, []uint64{100}, 10},
		"of two that are joined": {func(r *sequenceRig) { r.next(90); r.settle(); r.next(20); r.settle() }, []uint64{90}, 0},
		"of a larger join":       {func(r *sequenceRig) { r.next(50); r.next(51) }, []uint64{99}, 0},
		"another was granted":    {func(r *sequenceRig) { r.next(30); r.blocks.other(1) }, nil, 70},
		"dropped":                {func(r *sequenceRig) { r.next(30); r.sequence.DropBefore(r.blocks.other(1)) }, nil, 70},
	} {
		t.Run(name, func(t *testing.T) {
			runSequence(t, nil, func(r *sequenceRig) {
				c.before(r)
				r.settle()
				last, was := r.sequence.Last()
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if err := r.closing(); err != nil {
							r.Error(err)
						}
					})
				}
				wg.Wait()
				if !slices.Equal(r.blocks.returned(), c.returns) {
					r.Errorf("returned %v, want %v", r.blocks.returned(), c.returns)
				}
				for range 2 {
					if n, err := r.sequence.Next(r.Context(), 1); !errors.Is(err, allocator.ErrClosed) {
						r.Errorf("%+v, %v", n, err)
					}
				}
				if s := r.sequence.Stats(); s.Skipped != c.skipped || s.BlockSize != 0 {
					r.Errorf("%+v", s)
				}
				if l, is := r.sequence.Last(); l != last || is != was {
					r.Errorf("last %d, %v; was %d, %v", l, is, last, was)
				}
			})
		})
	}
}

// The numbers of the returned block continue where this process stopped.
func TestNumbersContinueAfterClose(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.expect(42, 1)
		if err := r.closing(); err != nil {
			r.Fatal(err)
		}
		r.sequence = allocator.OpenSequence(r.cfg)
		r.expect(1, 43)
	})
}

func TestCloseWaitsForRequestInProgress(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = time.Second }, func(r *sequenceRig) {
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { _, err = r.sequence.Next(r.Context(), 1) })
		r.settle()
		if took := timed(func() {
			if err := r.closing(); err != nil {
				r.Error(err)
			}
		}); took != time.Second {
			r.Errorf("took %v", took)
		}
		wg.Wait()
		if !errors.Is(err, allocator.ErrClosed) || !slices.Equal(r.blocks.returned(), []uint64{100}) {
			r.Errorf("%v, returned %v", err, r.blocks.returned())
		}
	})
}

// Only numbers of the last grant can be returned, even if they continue a block in memory.
func TestCloseReturnsNoMoreThanWasGrantedLast(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(50)
		r.settle()
		r.blocks.other(10)
		r.next(30)
		r.settle() // the next block is in memory
		r.blocks.set(func() { r.blocks.delay = time.Second })
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = r.sequence.Next(r.Context(), 1000) })
		r.settle()
		r.expect(1, 81) // a larger request does not skip the rest before it is served
		if err := r.closing(); err != nil {
			r.Error(err)
		}
		wg.Wait()
		if s := r.sequence.Stats(); !slices.Equal(r.blocks.returned(), []uint64{1000}) || s.Skipped != 19+r.blocks.grant(1).Count {
			r.Errorf("returned %v, %+v", r.blocks.returned(), s)
		}
	})
}

func TestSequenceCloseWithHangingCluster(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(90)
		r.settle()
		r.next(90) // the current block is a joined one
		r.settle()
		r.blocks.set(func() { r.blocks.delay = time.Hour })
		r.next(100)
		var wg sync.WaitGroup
		var err error
		wg.Go(func() { _, err = r.sequence.Next(r.Context(), 1_000_000) })
		r.settle()
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if took := timed(func() {
			if err := r.sequence.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				r.Error(err)
			}
		}); took != time.Second {
			r.Errorf("took %v", took)
		}
		wg.Wait()
		if !errors.Is(err, allocator.ErrClosed) {
			r.Error(err)
		}
	})
}

func TestCloseWithoutReturnableNumbers(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(1)
		r.blocks.set(func() { r.blocks.before = func() error { return errDown } })
		for range 2 {
			if err := r.closing(); !errors.Is(err, errDown) {
				r.Error(err)
			}
		}
		if s := r.sequence.Stats(); s.Skipped != 99 {
			r.Errorf("%+v", s)
		}
	})
}
