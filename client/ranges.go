package client

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Range is a series of Count evenly spaced IDs: First, First + Step, and so on.
type Range struct {
	First int64
	Count int // at least 1
	Step  int64
}

// All yields the IDs of the range in ascending order.
func (r Range) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range int64(r.Count) {
			if !yield(r.First + i*r.Step) {
				return
			}
		}
	}
}

// checked returns the ranges of a member's answer to a request for count IDs greater than after. It returns an error
// if the answer does not hold exactly that many different IDs: no member sends such an answer, but a proxy or a bug may.
func checked(ranges []*snowraftv1.IdRange, count uint64, after int64) ([]Range, error) {
	answer := make([]Range, len(ranges))
	var sum uint64
	for n, r := range ranges {
		answer[n] = Range{First: r.GetFirst(), Count: int(r.GetCount()), Step: r.GetStep()}
		if err := valid(answer[n], answer[0].Step, after); err != nil {
			return nil, err
		}
		sum += uint64(r.GetCount()) // cannot overflow: there are less than 2^32 ranges
	}
	if sum != count {
		return nil, malformed("%d IDs instead of the %d requested", sum, count)
	}
	// Ranges with the same step can share an ID only if their IDs have the same remainder modulo the step.
	slices.SortFunc(answer, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.First%a.Step, b.First%b.Step), cmp.Compare(a.First, b.First))
	})
	for n := 1; n < len(answer); n++ {
		a, b := answer[n-1], answer[n]
		if a.First%a.Step == b.First%b.Step && b.First <= end(a) {
			return nil, malformed("ID %d twice", b.First)
		}
	}
	return answer, nil
}

// valid checks one range. All ranges of an answer have the step of their layout.
func valid(r Range, step, after int64) error {
	switch {
	case r.Count < 1:
		return malformed("an empty range")
	case r.Step <= 0 || r.Step != step:
		return malformed("a range with a step of %d, where the first has %d", r.Step, step)
	case r.First <= after: // rejects 0 too, which is not an ID
		return malformed("ID %d, expected one greater than %d", r.First, after)
	}
	if high, span := bits.Mul64(uint64(r.Count-1), uint64(r.Step)); high != 0 || span > uint64(math.MaxInt64-r.First) {
		return malformed("%d IDs from %d on with a step of %d, which exceed 63 bits", r.Count, r.First, r.Step)
	}
	return nil
}

// end returns the last ID of a range.
func end(r Range) int64 { return r.First + int64(r.Count-1)*r.Step }

// last returns the greatest ID of an answer.
func last(answer []Range) (id int64) {
	for _, r := range answer {
		id = max(id, end(r))
	}
	return id
}

// at returns the ID at an index of an answer. The answer must be long enough.
func at(answer []Range, place uint64) int64 {
	for _, r := range answer {
		if place < uint64(r.Count) {
			return r.First + int64(place)*r.Step
		}
		place -= uint64(r.Count)
	}
	return 0 // not reached: an answer is as long as its batch
}

// part returns an iterator over count IDs that start at an index of an answer. The answer must be long enough.
func part(answer []Range, place, count uint64) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for _, r := range answer {
			have := uint64(r.Count)
			if place >= have {
				place -= have
				continue
			}
			take := min(have-place, count)
			if !yield(Range{First: r.First + int64(place)*r.Step, Count: int(take), Step: r.Step}) {
				return
			}
			if count -= take; count == 0 {
				return
			}
			place = 0
		}
	}
}
