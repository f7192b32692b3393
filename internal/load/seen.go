package load

const (
	// DefaultSpans is the default limit of the spans that a check holds: 256 MiB, and up to a quarter more while
	// their list grows. IDs in batches need one span for one tick or more. Single IDs from
	// one member join too, because the IDs that other clients got lie between them.
	DefaultSpans = 16 << 20
	// slack: one in slack spans must be free after the check has joined all spans, otherwise
	// the check is full. Without slack, repeated joins would take all the time.
	slack = 8
	// fewest is the length from which on the check joins spans.
	fewest = 1 << 16
	// examples is the greatest number of duplicates in a report.
	examples = 10
)

// Seen checks whether a number was issued twice. It keeps spans of numbers in one list. When the list has doubled, Seen sorts it
// and joins adjacent spans, so that it handles each span a logarithmic number of times. It is not safe for concurrent use.
type Seen struct {
	order order
	limit int
	held  spans
	next  int // length of held from which on its spans are joined
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
	return &Seen{order: order{step: max(step, 1)}, limit: limit, next: min(limit, fewest)}
}

// Add adds spans of the check's step. It does not retain the slice.
func (s *Seen) Add(more []Span) {
	if s.full {
		for _, span := range more {
			s.report.Skipped += s.order.count(span)
		}
		return
	}
	for _, span := range more {
		s.report.Checked += s.order.count(span)
	}
	s.held = append(s.held, more...)
	if len(s.held) >= s.next {
		s.join()
		s.full = len(s.held) > s.limit-s.limit/slack
	}
}

// join sorts and joins the spans.
func (s *Seen) join() {
	s.held = s.order.sort(s.held, s.twice)
	s.next = min(s.limit, max(2*len(s.held), fewest))
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
	s.join()
	return s.report
}
