package load

import (
	"cmp"
	"slices"
)

// Span stands for the numbers First, First + step, ..., Last, with the step of
// the Seen that holds it.
type Span struct{ First, Last uint64 }

// spans is a list of spans in the order of compare.
type spans []Span

// order compares spans with the given step. It compares the remainders first, so that spans
// that can continue one another are adjacent.
type order struct{ step uint64 }

func (o order) compare(a, b Span) int {
	if o.step > 1 {
		if c := cmp.Compare(a.First%o.step, b.First%o.step); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.First, b.First)
}

// together reports whether two spans have the same remainder.
func (o order) together(a, b Span) bool { return o.step == 1 || a.First%o.step == b.First%o.step }

// count returns the number of numbers that a span stands for. A span never stands for all 2^64 numbers.
func (o order) count(s Span) uint64 { return (s.Last-s.First)/o.step + 1 }

// sort sorts spans in place, joins spans that continue one another, and calls twice
// with the numbers that are in two spans.
func (o order) sort(s spans, twice func(Span)) spans {
	if !slices.IsSortedFunc(s, o.compare) { // the spans of one client usually are
		slices.SortFunc(s, o.compare)
	}
	joined := s[:0]
	for _, next := range s {
		joined = o.join(joined, next, twice)
	}
	return joined
}

// join appends next to s, or extends the last span of s if next overlaps or continues it.
func (o order) join(s spans, next Span, twice func(Span)) spans {
	if len(s) == 0 || !o.together(s[len(s)-1], next) {
		return append(s, next)
	}
	last := &s[len(s)-1]
	switch {
	case next.First <= last.Last:
		twice(Span{First: next.First, Last: min(next.Last, last.Last)})
		last.Last = max(last.Last, next.Last)
	case next.First-last.Last == o.step:
		last.Last = next.Last
	default:
		return append(s, next)
	}
	return s
}
