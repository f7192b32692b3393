package load

import "math/bits"

const (
	// DefaultSpans is the default limit of the spans that a check holds: 256 MiB, and up to as much
	// again while it sorts. IDs in batches need one span for one tick or more. Single IDs from
	// one member join too, because the IDs that other clients got lie between them.
	DefaultSpans = 16 << 20
	// slack: one in slack spans must be free after the check has joined all spans, otherwise
	// the check is full. Without slack, repeated joins would take all the time.
	slack = 8
	// examples is the greatest number of duplicates in a report.
	examples = 10
)

// Seen checks whether a number was issued twice. It keeps spans of numbers in lists. Each list is sorted,
// and its adjacent spans are joined. Seen merges two lists of about equal length, so that it moves each
// span a logarithmic number of times (the logarithmic method of Bentley and Saxe). The first merges
// already join the numbers that clients got at the same time. Seen is not safe for concurrent use.
type Seen struct {
	order order
	limit int
	lists []spans // longest first; the numbers of bits of their lengths decrease
	// full reports that the check takes no more spans; report counts the numbers skipped.
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
	// Examples holds the first repeated numbers that were found, at most 10.
	Examples []uint64
}

// NewSeen returns a check that holds at most limit spans. step is the distance between the
// numbers of a run, at least 1. Numbers at other distances are checked too, but take one
// span each.
func NewSeen(step uint64, limit int) *Seen {
	return &Seen{order: order{step: max(step, 1)}, limit: limit}
}

// Add adds spans of the check's step. It does not retain the slice.
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
		s.merge(func(int, int) bool { return true }) // spans of different lists may join
		s.full = s.held() > s.limit-s.limit/slack
	}
}

// merge merges the last two lists while needed returns true for their lengths.
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
