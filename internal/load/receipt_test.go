package load

import (
	"math"
	"slices"
	"testing"
)

func TestReceiptsKeepRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		step  uint64
		note  func(*Receipt)
		count uint64
		spans []Span
	}{
		{"ranges that follow one another", 1, func(r *Receipt) { r.Range(5, 10, 1); r.Range(15, 5, 1); r.Number(20) }, 16, []Span{{5, 20}}},
		{"the same again", 1, func(r *Receipt) { r.Number(5); r.Number(5) }, 2, []Span{{5, 5}, {5, 5}}},
		{"another step", 1, func(r *Receipt) { r.Range(5, 3, 10) }, 3, []Span{{5, 5}, {15, 15}, {25, 25}}},
		{"one of another step", 1, func(r *Receipt) { r.Range(5, 1, 10) }, 1, []Span{{5, 5}}},
		{"beyond 64 bits", 1, func(r *Receipt) { r.Range(math.MaxUint64, 2, 1) }, 2, []Span{{math.MaxUint64, math.MaxUint64}, {0, 0}}},
		{"numbers with a step", 16, func(r *Receipt) { r.Number(5); r.Number(21); r.Number(38) }, 3, []Span{{5, 21}, {38, 38}}},
		{"none", 1, func(r *Receipt) { r.Range(5, 0, 1) }, 0, nil},
	} {
		seen := NewSeen(c.step, DefaultSpans)
		r := &Receipt{check: startChecker(seen, 1), step: c.step}
		c.note(r)
		if r.numbers != c.count || !slices.Equal(r.buffer, c.spans) {
			t.Errorf("%s: %d numbers in %v, want %d in %v", c.name, r.numbers, r.buffer, c.count, c.spans)
		}
		r.flush()
		if got := r.check.end(); got.Checked != c.count {
			t.Errorf("%s: %d were checked, want %d", c.name, got.Checked, c.count)
		}
	}
}
