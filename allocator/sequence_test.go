package allocator_test

import (
	"errors"
	"testing"

	"github.com/snowraft/snowraft/allocator"
)

var errExhausted = errors.New("no numbers left")

func TestSequenceIssuesNumbers(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		if _, ok := r.sequence.Last(); ok {
			r.Error("a last number before the first")
		}
		r.expect(1, 1)
		r.expect(10, 2)
		r.expect(1, 12)
		for first := int64(13); first < 1000; first++ {
			r.expect(1, first)
		}
		if last, ok := r.sequence.Last(); !ok || last != 999 {
			r.Errorf("last %d, %v", last, ok)
		}
		r.expect(1_000_000, 1000) // joined
		if s := r.sequence.Stats(); s.Taken != 1_000_999 || s.Skipped != 0 {
			r.Errorf("%+v", s)
		}
	})
}

func TestSequenceGoesDown(t *testing.T) {
	runSequence(t, func(r *sequenceRig) { r.blocks.increment = -3 }, func(r *sequenceRig) {
		for first := int64(1); first > -3000; first -= 3 {
			r.expect(1, first)
		}
	})
}

func TestSequenceSkipsTheTailOnlyForLargerRuns(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.expect(90, 1) // requests the next block
		r.settle()
		r.blocks.other(1000)
		r.expect(110, 91) // the requested block continues it
		if s := r.sequence.Stats(); s.Skipped != 0 {
			r.Fatalf("%+v", s)
		}
	})
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(50)
		r.blocks.other(1000)
		r.expect(60, 1101) // 50 numbers are skipped
		if s := r.sequence.Stats(); s.Skipped != 50 {
			r.Fatalf("%+v", s)
		}
	})
}

func TestSequenceRefusesNoCount(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		for range 2 {
			if _, err := r.sequence.Next(r.Context(), 0); !errors.Is(err, allocator.ErrInvalidArgument) {
				r.Error(err)
			}
			r.next(1)
		}
	})
}
