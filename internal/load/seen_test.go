package load

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

func TestDuplicatesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		step  uint64
		spans []Span
		want  DuplicateReport
	}{
		{"none", 1, []Span{{1, 10}, {11, 20}, {30, 30}, {25, 29}}, DuplicateReport{Checked: 26}},
		{"one twice", 1, []Span{{1, 1}, {5, 9}, {1, 1}}, DuplicateReport{Checked: 7, Duplicates: 1, Examples: []uint64{1}}},
		{"overlap", 1, []Span{{1, 10}, {8, 12}}, DuplicateReport{Checked: 15, Duplicates: 3, Examples: []uint64{8, 9, 10}}},
		{"within", 1, []Span{{1, 10}, {4, 4}, {9, 9}}, DuplicateReport{Checked: 12, Duplicates: 2, Examples: []uint64{4, 9}}},
		{"three times", 1, []Span{{7, 7}, {7, 7}, {7, 7}}, DuplicateReport{Checked: 3, Duplicates: 2, Examples: []uint64{7, 7}}},
		{"no more than ten examples", 1, []Span{{1, 100}, {1, 100}}, DuplicateReport{Checked: 200, Duplicates: 100, Examples: []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		{"runs between runs", 4, []Span{{0, 40}, {1, 41}, {2, 42}, {44, 48}}, DuplicateReport{Checked: 35}},
		{"of one run", 4, []Span{{0, 40}, {1, 41}, {40, 44}}, DuplicateReport{Checked: 24, Duplicates: 1, Examples: []uint64{40}}},
		{"the last number", 1, []Span{{math.MaxUint64 - 1, math.MaxUint64}, {math.MaxUint64, math.MaxUint64}}, DuplicateReport{Checked: 3, Duplicates: 1, Examples: []uint64{math.MaxUint64}}},
	} {
		s := NewSeen(c.step, DefaultSpans)
		s.Add(c.spans)
		got := s.Report()
		if got.Checked != c.want.Checked || got.Skipped != 0 || got.Duplicates != c.want.Duplicates || !slices.Equal(got.Examples, c.want.Examples) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The check agrees with a set, regardless of the order of the spans and of when they are joined.
func TestDuplicatesAsInASet(t *testing.T) {
	t.Parallel()
	seed.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]uint64{1, 3, 1 << 16}).Draw(t, "step")
		s := NewSeen(step, DefaultSpans)
		set, twice, numbers := map[uint64]bool{}, uint64(0), uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			var batch []Span
			for range rapid.IntRange(0, 6).Draw(t, "spans") {
				first := rapid.Uint64Range(0, 300).Draw(t, "first")
				span := Span{First: first, Last: first + step*rapid.Uint64Range(0, 5).Draw(t, "more")}
				batch = append(batch, span)
				for id := span.First; id <= span.Last; id += step {
					numbers++
					if set[id] {
						twice++
					}
					set[id] = true
				}
			}
			s.Add(batch)
			if rapid.Bool().Draw(t, "report") {
				s.Report()
			}
		}
		if got := s.Report(); got.Duplicates != twice || got.Checked != numbers {
			t.Fatalf("%+v, want %d duplicates of %d", got, twice, numbers)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 1000
	s := NewSeen(1, limit)
	for i := range uint64(10 * limit) {
		s.Add([]Span{{2 * i, 2 * i}}) // no spans join
	}
	if held := len(s.held); held > limit {
		t.Errorf("%d spans are held, want at most %d", held, limit)
	}
	s.Add([]Span{{0, 0}}) // no longer noticed
	if got := s.Report(); got.Checked != limit || got.Skipped != 9*limit+1 || got.Duplicates != 0 {
		t.Errorf("%+v, want %d checked and %d skipped", got, limit, 9*limit+1)
	}
}

// Numbers that fill the gaps between other numbers take no memory. The numbers of many
// clients fill all gaps in the end.
func TestNeighboursJoin(t *testing.T) {
	t.Parallel()
	const clients, each = 64, 10_000
	s := NewSeen(1, 1<<20)
	for from := uint64(0); from < each; from += 100 {
		for c := range uint64(clients) {
			var batch []Span
			for i := from; i < from+100; i++ {
				batch = append(batch, Span{First: i*clients + c, Last: i*clients + c})
			}
			s.Add(batch)
		}
	}
	got := s.Report()
	if held := len(s.held); held != 1 || got.Checked != clients*each || got.Duplicates != 0 {
		t.Errorf("%d spans, %+v, want one of %d numbers", held, got, clients*each)
	}
}
