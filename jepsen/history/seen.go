package history

import (
	"cmp"
	"maps"
)

// Seen is the range of the numbers of a sequence that clients received or read.
type Seen struct {
	Lowest, Highest, Increment int64
	Relaxed                    bool // relaxed sequence, of which clients may hold blocks
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
		s.Relaxed = j.relaxed[key]
		seen[key] = s
	}
	return seen
}

// see adds the numbers of an operation to j.seen. Requires j.mu held.
func (j *Journal) see(op *Op) {
	if op.Outcome != OK {
		return
	}
	switch op.Do {
	case DoNext, DoIncr, DoBlock:
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
	if !ok {
		s = Seen{Lowest: low, Highest: high, Increment: increment}
	}
	if op.Increment != 0 { // the answer of a read has none
		s.Increment = op.Increment
	}
	s.Lowest, s.Highest = min(s.Lowest, low), max(s.Highest, high)
	j.seen[op.Key] = s
}
