package allocator_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// together makes calls at the same time and returns their errors.
func (r *sequenceRig) together(counts ...uint64) (numbers []allocator.Numbers, errs []error) {
	numbers, errs = make([]allocator.Numbers, len(counts)), make([]error, len(counts))
	var wg sync.WaitGroup
	for i, count := range counts {
		wg.Go(func() { numbers[i], errs[i] = r.sequence.Next(r.Context(), count) })
	}
	wg.Wait()
	return numbers, errs
}

func TestWaitingCallsShareRequests(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 10 * time.Millisecond }, func(r *sequenceRig) {
		counts := slices.Repeat([]uint64{500}, 40)
		took := timed(func() {
			if _, errs := r.together(counts...); errors.Join(errs...) != nil {
				r.Fatal(errs)
			}
		})
		// The first request is for the calls before its start, the second for all other calls.
		if s := r.sequence.Stats(); took > 20*time.Millisecond || s.Blocks > 2 || s.Taken != 40*500 || s.Waited != 40 || s.Skipped != 0 {
			r.Errorf("%v, %+v", took, s)
		}
	})
}

func TestRequestsOutliveTheirCallers(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = 100 * time.Millisecond }, func(r *sequenceRig) {
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Millisecond)
		defer cancel()
		var err error
		if took := timed(func() { _, err = r.sequence.Next(ctx, 1) }); !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Millisecond {
			r.Errorf("%v after %v", err, took)
		}
		if took := timed(func() { r.expect(1, 1) }); took != 90*time.Millisecond {
			r.Errorf("took %v", took)
		}
		if _, err := r.sequence.Next(ctx, 1000); !errors.Is(err, context.DeadlineExceeded) || len(r.blocks.requests()) != 1 {
			r.Errorf("%v, requested %d times", err, len(r.blocks.requests()))
		}
	})
}

func TestHangingRequest(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.delay = time.Hour }, func(r *sequenceRig) {
		var err error
		if took := timed(func() { _, err = r.sequence.Next(r.Context(), 1) }); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			r.Errorf("%v after %v", err, took)
		}
	})
}

// While blocks last, no caller notices that none are granted, and requests to the cluster become less and less
// frequent.
func TestFailingPrefetch(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(1)
		r.load(1000, 20*time.Second)
		r.next(r.sequence.Stats().BlockSize) // the block is fresh, and the next one requested
		r.settle()
		r.blocks.set(func() { r.blocks.before = func() error { return errDown } })
		asked := len(r.blocks.requests())
		var taken int
		began := time.Now()
		for ; ; taken++ {
			if _, err := r.sequence.Next(r.Context(), 1); err != nil {
				if !errors.Is(err, errDown) {
					r.Error(err)
				}
				break
			}
			time.Sleep(time.Millisecond)
		}
		took := time.Since(began)
		if n := len(r.blocks.requests()) - asked; took < 5*time.Second || n < 3 || n > 10+int(2*took/time.Second) {
			r.Errorf("requested %d times in %v", n, took)
		}
		r.blocks.set(func() { r.blocks.before = nil })
		r.next(1)
		if waited, _ := r.load(1000, 10*time.Second); waited > 0 {
			r.Errorf("%d calls waited", waited)
		}
	})
}

func TestEndOfNumbers(t *testing.T) {
	for _, increment := range []int64{1, -1} {
		runSequence(t, func(r *sequenceRig) {
			r.blocks.increment, r.blocks.length, r.blocks.start = increment, 140, math.MaxInt64-139
			if increment < 0 {
				r.blocks.start = math.MinInt64 + 139
			}
		}, func(r *sequenceRig) {
			r.expect(90, r.blocks.start)
			if _, err := r.sequence.Next(r.Context(), 51); !errors.Is(err, errExhausted) {
				r.Error(err)
			}
			r.expect(1, r.blocks.start+90*increment)
			r.expect(49, r.blocks.start+91*increment)
			if _, err := r.sequence.Next(r.Context(), 1); !errors.Is(err, errExhausted) {
				r.Error(err)
			}
			if _, err := r.sequence.Next(r.Context(), math.MaxUint64); !errors.Is(err, errExhausted) {
				r.Error(err)
			}
			if s := r.sequence.Stats(); s.Taken != 140 || s.Skipped != 0 {
				r.Errorf("%+v", s)
			}
		})
	}
}

// Blocks that are always too short cause an error in the end, and are not lost for other callers.
func TestBlocksTooShort(t *testing.T) {
	runSequence(t, func(r *sequenceRig) {
		r.blocks.forge = func(b allocator.Block) allocator.Block {
			b.First *= 10 // blocks that are not contiguous
			return b
		}
		r.blocks.length, r.blocks.min = math.MaxInt64, 1
		r.blocks.before = func() error { r.blocks.length = r.blocks.granted + 10; return nil }
	}, func(r *sequenceRig) {
		_, errs := r.together(1000, 1, 5)
		if errs[0] == nil || errs[1] != nil || errs[2] != nil || len(r.blocks.requests()) > 6 {
			r.Errorf("%v, requested %d times", errs, len(r.blocks.requests()))
		}
	})
}

func TestImpossibleBlocks(t *testing.T) {
	for name, forge := range map[string]func(*allocator.Block){
		"nothing":        func(b *allocator.Block) { *b = allocator.Block{} },
		"no numbers":     func(b *allocator.Block) { b.Count = 0 },
		"too many":       func(b *allocator.Block) { b.Count = math.MaxUint64 },
		"all there are":  func(b *allocator.Block) { b.First, b.Count = math.MinInt64, 1<<63 },
		"wraps":          func(b *allocator.Block) { b.First = math.MaxInt64 - 98 },
		"wraps down":     func(b *allocator.Block) { b.First, b.Increment = math.MinInt64+98, -1 },
		"wraps widely":   func(b *allocator.Block) { b.Increment = math.MinInt64 },
		"no increment":   func(b *allocator.Block) { b.Increment = 0 },
		"no token":       func(b *allocator.Block) { b.Token = 0 },
		"same token":     func(b *allocator.Block) { b.Token = 1 },
		"repeats":        func(b *allocator.Block) { b.First = 1 },
		"overlaps":       func(b *allocator.Block) { b.First = 100 },
		"goes back":      func(b *allocator.Block) { b.First = -1000 },
		"turns":          func(b *allocator.Block) { b.Increment = -1 },
		"other stride":   func(b *allocator.Block) { b.Increment = 2 },
		"negative day":   func(b *allocator.Block) { b.Period = -1 },
		"ends before it": func(b *allocator.Block) { b.PeriodEnd = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			runSequence(t, nil, func(r *sequenceRig) {
				r.expect(100, 1)
				r.settle()
				r.sequence.DropBefore(r.blocks.other(1))
				r.blocks.set(func() {
					r.blocks.forge = func(b allocator.Block) allocator.Block { forge(&b); return b }
				})
				asked := len(r.blocks.requests())
				n, err := r.sequence.Next(r.Context(), 1)
				if err == nil {
					r.Errorf("%+v", n)
				}
				if len(r.blocks.requests()) != asked+1 {
					r.Errorf("requested %d times", len(r.blocks.requests())-asked)
				}
				r.blocks.set(func() { r.blocks.forge = nil })
				if n := r.next(1); n.First <= 200 {
					r.Errorf("%+v", n)
				}
			})
		})
	}
}

// A nonsensical policy neither stops a Sequence nor makes it request without end.
func TestImpossiblePolicies(t *testing.T) {
	for _, c := range []struct {
		duration time.Duration
		min, max uint64
	}{
		{0, 0, 0}, {-1, 10, 1}, {1, 1, 1}, {math.MaxInt64, math.MaxUint64, math.MaxUint64}, {math.MinInt64, 0, 1}, {1, 0, math.MaxUint64},
	} {
		runSequence(t, func(r *sequenceRig) {
			r.blocks.forge = func(b allocator.Block) allocator.Block {
				b.Duration, b.MinCount, b.MaxCount = c.duration, c.min, c.max
				return b
			}
			r.blocks.length = math.MaxInt64 / 2
		}, func(r *sequenceRig) {
			for range 5000 {
				if _, err := r.sequence.Next(r.Context(), 1); err != nil && !errors.Is(err, errExhausted) {
					r.Fatal(err)
				}
			}
			if asked := len(r.blocks.requests()); asked > 200 {
				r.Errorf("requested %d times", asked)
			}
		})
	}
}
