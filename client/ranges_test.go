package client

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func ranges(triples ...int64) (all []*snowraftv1.IdRange) {
	for i := 0; i < len(triples); i += 3 {
		all = append(all, &snowraftv1.IdRange{First: triples[i], Count: uint32(triples[i+1]), Step: triples[i+2]})
	}
	return all
}

func TestAnswersAreChecked(t *testing.T) {
	for _, c := range []struct {
		what   string
		ranges []*snowraftv1.IdRange
		count  uint64
		after  int64
		good   bool
	}{
		{"as asked", ranges(10, 3, 1), 3, 9, true},
		{"two lanes", ranges(20, 3, 1, 10, 3, 1), 6, 0, true},
		{"two lanes that interleave", ranges(10, 3, 4, 11, 3, 4), 6, 0, true},
		{"to the last ID", ranges(math.MaxInt64-2, 2, 2), 2, 0, true},
		{"nothing", nil, 1, 0, false},
		{"a nil range", []*snowraftv1.IdRange{nil}, 1, 0, false},
		{"fewer", ranges(10, 2, 1), 3, 0, false},
		{"more", ranges(10, 4, 1), 3, 0, false},
		{"an empty range", ranges(10, 3, 1, 20, 0, 1), 3, 0, false},
		{"no step", ranges(10, 3, 0), 3, 0, false},
		{"no step of one", ranges(10, 1, 0), 1, 0, false},
		{"two steps", ranges(10, 2, 1, 20, 2, 2), 4, 0, false},
		{"huge counts", ranges(10, math.MaxUint32, 1, 1<<40, math.MaxUint32, 1), 3, 0, false},
		{"ID 0", ranges(0, 2, 1), 2, 0, false},
		{"the floor", ranges(10, 2, 1), 2, 10, false},
		{"past 63 bits", ranges(math.MaxInt64-2, 2, 3), 2, 0, false},
		{"far past 63 bits", ranges(10, 3, 1<<62), 3, 0, false},
		{"far past 64 bits", ranges(10, 5, 1<<62), 5, 0, false},
		{"a negative ID", ranges(-10, 3, 1), 3, 0, false},
		{"a negative step", ranges(10, 3, -1), 3, 0, false},
		{"one range twice", ranges(10, 3, 1, 10, 3, 1), 6, 0, false},
		{"an overlap", ranges(12, 3, 1, 10, 3, 1), 6, 0, false},
		{"an overlap of steps", ranges(10, 3, 4, 18, 1, 4, 11, 1, 4), 5, 0, false},
	} {
		if _, err := checked(c.ranges, c.count, c.after); (err == nil) != c.good {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// Whatever a member answers, callers that share the answer get different IDs above the floor.
func TestAcceptedAnswersHaveNoIDTwice(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		small := rapid.Int64Range(-3, 60)
		var sum uint64
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *snowraftv1.IdRange {
			r := &snowraftv1.IdRange{First: small.Draw(t, "first"), Count: rapid.Uint32Range(0, 5).Draw(t, "count"), Step: rapid.Int64Range(-2, 4).Draw(t, "step")}
			return r
		}), 0, 4).Draw(t, "ranges")
		if rapid.Bool().Draw(t, "one step") {
			for _, r := range all {
				r.Step = max(1, all[0].GetStep())
			}
		}
		for _, r := range all {
			sum += uint64(r.GetCount())
		}
		after := rapid.Int64Range(0, 5).Draw(t, "after")
		answer, err := checked(all, sum, after)
		var want []int64 // the IDs of the answer
		proper := sum > 0
		for _, r := range all {
			proper = proper && r.GetCount() > 0 && r.GetStep() > 0 && r.GetStep() == all[0].GetStep() && r.GetFirst() > after
			for i := range int64(r.GetCount()) {
				want = append(want, r.GetFirst()+i*r.GetStep())
			}
		}
		slices.Sort(want)
		proper = proper && len(slices.Compact(slices.Clone(want))) == len(want)
		if proper != (err == nil) && sum > 0 {
			t.Fatalf("%v: %v", all, err)
		}
		if err != nil {
			return
		}
		// Both ways of dividing the answer among callers return the same IDs.
		var got, single []int64
		for place := uint64(0); place < sum; {
			n := rapid.Uint64Range(1, sum-place).Draw(t, "n")
			for r := range part(answer, place, n) {
				got = slices.AppendSeq(got, r.All())
			}
			place += n
		}
		for place := range sum {
			single = append(single, at(answer, place))
		}
		if !slices.Equal(got, single) {
			t.Fatalf("%v as parts, %v as single IDs", got, single)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if sum > 0 && last(answer) != want[len(want)-1] {
			t.Fatalf("the greatest is %d of %v", last(answer), want)
		}
	})
}
