package history

import (
	"cmp"
	"maps"
	"path"
)

// Seen is the range of the numbers of a sequence that clients received or read.
type Seen struct {
	// Lowest and Highest are numbers of the latest period.
	Lowest, Highest, Increment int64
	Relaxed                    bool // relaxed sequence, of which clients may hold blocks
	// Template is the pattern of the template with which the sequence may have begun; empty if there is none.
	Template string
	// Period is the latest period. Ended has the greatest number of each earlier one.
	Period string
	Ended  map[string]int64
}

// Last returns the number that is furthest in the direction of the sequence.
func (s Seen) Last() int64 {
	if s.Increment < 0 {
		return s.Lowest
	}
	return s.Highest
}

// Seen returns the range of the numbers of each sequence that clients saw in the operations so far. Operators can look
// up such ranges in their own data.
func (j *Journal) Seen() map[string]Seen {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := maps.Clone(j.seen)
	for key, s := range seen {
		s.Relaxed, s.Ended = j.relaxed[key], maps.Clone(s.Ended)
		for _, pattern := range j.templates {
			if ok, _ := path.Match(pattern, key); ok {
				s.Template = pattern
			}
		}
		seen[key] = s
	}
	return seen
}

// Jobs returns the greatest number of a backfill job that a client started, of each layout with a past; -1 if there is none.
func (j *Journal) Jobs() map[string]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.jobs)
}

// see adds the numbers of an operation to j.seen, and a job to j.jobs. Requires j.mu held.
func (j *Journal) see(op *Op) {
	if op.Outcome != OK {
		return
	}
	switch op.Do {
	case DoJob:
		j.jobs[op.Key] = max(j.jobs[op.Key], int64(op.Job))
		return
	case DoNext, DoIncr, DoBlock, DoText, DoReserve, DoTake:
	case DoRead:
		if op.First == 0 {
			return // none was issued yet
		}
	default:
		return
	}
	increment := cmp.Or(op.Increment, 1)
	last := op.First + int64(max(op.Count, 1)-1)*increment
	if op.Do == DoRead {
		last = op.First
	}
	low, high := min(op.First, last), max(op.First, last)
	s, ok := j.seen[op.Key]
	switch {
	case !ok:
		s = Seen{Lowest: low, Highest: high, Increment: increment, Period: op.Period}
	case op.Period > s.Period:
		s = Seen{Lowest: low, Highest: high, Increment: increment, Period: op.Period, Ended: s.ended(s.Period, s.Last())}
	case op.Period < s.Period:
		s.Ended = s.ended(op.Period, last)
		j.seen[op.Key] = s
		return
	}
	if op.Increment != 0 { // the answer of a read has none
		s.Increment = op.Increment
	}
	s.Lowest, s.Highest = min(s.Lowest, low), max(s.Highest, high)
	j.seen[op.Key] = s
}

// ended returns s.Ended with a number of an earlier period.
func (s Seen) ended(period string, n int64) map[string]int64 {
	all := maps.Clone(s.Ended)
	if all == nil {
		all = make(map[string]int64)
	}
	all[period] = max(all[period], n)
	return all
}
