package load

import "math/bits"

const (
	// DefaultSpans is the greatest number of spans that a check holds: 256 MiB, and while it sorts
	// up to as much again. IDs that are requested in batches need one span for a
	// tick or more; single ones from one member join as well, because those that others
	// were given lie between them.
	DefaultSpans = 16 << 20
	// slack is the part of those that must be free after all were joined, for the check
	// to go on: joining all of them again and again would take all of the time.
	slack = 8
	// examples is the greatest number of duplicates shown.
	examples = 10
)

// Seen finds out whether a number came twice. It keeps spans of numbers, in lists
// that are each sorted and joined, and merges two when they are about as long, so that
// each span is moved a logarithmic number of times. Numbers that clients got at the same time
// joins in the first of those merges. It is not safe for concurrent use.
type Seen struct {
	order order
	limit int
	lists []spans // the longest first, each at most half as long as the one before
	// full reports whether no more is taken; report counts the numbers skipped.
	full   bool
	report DuplicateReport
}

// DuplicateReport is the outcome of a check.
type DuplicateReport struct {
	// Checked is the number of numbers that were compared with each other.
	Checked uint64
	// Skipped is the number of numbers that were not compared, because there was no memory left for them.
	Skipped uint64
	// Duplicates is the number of repetitions of numbers.
	Duplicates uint64
	// Examples are some of those numbers.
	Examples []uint64
}

// NewSeen returns a check that holds at most limit spans. Step is how far the
// numbers of a run are apart, at least 1; others are checked as well, but take a
// span each.
func NewSeen(step uint64, limit int) *Seen {
	return &Seen{order: order{step: max(step, 1)}, limit: limit}
}

// Add adds spans of the check's step; it keeps nothing of the slice.
func (s *Seen) Add(more []Span) {
	if len(more) == 0 {
		return
	}
	if s.full {
		for _, span := range more {
			s.report.Skipped += s.order.count(span)
		}
		return
	}
	for _, span := range more {
		s.report.Checked += s.order.count(span)
	}
	s.lists = append(s.lists, s.order.sort(append(spans(nil), more...), s.twice))
	s.merge(func(longer, shorter int) bool { return bits.Len(uint(longer)) <= bits.Len(uint(shorter)) })
	if s.held() >= s.limit {
		s.merge(func(int, int) bool { return true }) // what is in different lists may join
		s.full = s.held() > s.limit-s.limit/slack
	}
}

// merge merges the last two lists for as long as needed says so of their lengths.
func (s *Seen) merge(needed func(longer, shorter int) bool) {
	for n := len(s.lists); n > 1 && needed(len(s.lists[n-2]), len(s.lists[n-1])); n = len(s.lists) {
		s.lists[n-2] = s.order.merge(s.lists[n-2], s.lists[n-1], s.twice)
		s.lists = s.lists[:n-1]
	}
}

func (s *Seen) held() (n int) {
	for _, list := range s.lists {
		n += len(list)
	}
	return n
}

func (s *Seen) twice(span Span) {
	s.report.Duplicates += s.order.count(span)
	for id := span.First; len(s.report.Examples) < examples; id += s.order.step {
		s.report.Examples = append(s.report.Examples, id)
		if id == span.Last {
			return
		}
	}
}

// Report returns the outcome so far.
func (s *Seen) Report() DuplicateReport {
	s.merge(func(int, int) bool { return true })
	return s.report
}
