package collision

import (
	"slices"
	"sort"

	"github.com/snowraft/snowraft/snowflake"
)

// Meet returns the least and the greatest ID that are in both sets, and reports whether the sets share an ID. It searches the
// bits of an ID from the highest to the lowest, and never enters the same dead end twice.
func Meet(a, b Set) (least, greatest uint64, ok bool) {
	if a.empty || b.empty {
		return 0, 0, false
	}
	s := search{parts: slices.Concat(a.parts, b.parts), dead: map[position]bool{}}
	if least, ok = s.find(63, s.start(), 0, 0); !ok {
		return 0, 0, false
	}
	greatest, _ = s.find(63, s.start(), 0, 1)
	return least, greatest, true
}

// MeetIssued returns the first and the last ID of existing that holders of a layout's workers can issue after the instant from, in
// Unix milliseconds. First and last mean the times that the layout reads in them. It reports whether there is such an ID.
func MeetIssued(existing Set, l *snowflake.Layout, from int64) (first, last uint64, ok bool) {
	first, last, ok = Meet(existing, Issued(l, from))
	if !ok || l.Spec().Fields[0].Field == snowflake.FieldTime {
		return first, last, ok
	}
	// IDs of this layout do not sort by time, so the first and the last tick with a shared ID are searched.
	lower, ticks := max(0, l.TickAt(from)), int64(l.Ticks()) //nolint:gosec // a layout with leases has at most 62 bits of time
	span := int(ticks - lower)
	firstTick := lower + int64(sort.Search(span, func(n int) bool {
		_, _, found := Meet(existing, issuedUntil(l, from, l.MillisAt(lower+int64(n))))
		return found
	}))
	lastTick := ticks - 1 - int64(sort.Search(span, func(n int) bool {
		_, _, found := Meet(existing, Issued(l, l.MillisAt(ticks-1-int64(n))))
		return found
	}))
	first, _, _ = Meet(existing, issuedUntil(l, l.MillisAt(firstTick), l.MillisAt(firstTick)))
	_, last, _ = Meet(existing, issuedUntil(l, l.MillisAt(lastTick), l.MillisAt(lastTick)))
	return first, last, true
}

// search walks the bits of an ID from the highest to the lowest. For each part it keeps whether the bits so far equal the bits
// of the lower bound and of the upper bound: only then does the bound restrict the next bit. The rest of the search depends only on
// these flags and the bit, so search never enters a position again from which it found no ID.
type search struct {
	parts []part
	dead  map[position]bool
}

// position is a bit, and two flags for each part: the bits so far equal its lower bound, and they equal its upper bound.
type position struct {
	bit   int
	tight uint64
}

// start returns the flags before the first bit.
func (s *search) start() uint64 { return 1<<(2*len(s.parts)) - 1 }

// find returns the first ID that continues from a position. It tries the value prefer of each bit first.
func (s *search) find(bit int, tight, id, prefer uint64) (uint64, bool) {
	if bit < 0 {
		return id, true
	}
	here := position{bit, tight}
	if s.dead[here] {
		return 0, false
	}
	for _, value := range [...]uint64{prefer, 1 - prefer} {
		next, ok := s.step(bit, tight, value)
		if !ok {
			continue
		}
		if found, ok := s.find(bit-1, next, id|value<<bit, prefer); ok {
			return found, true
		}
	}
	s.dead[here] = true
	return 0, false
}

// step returns the flags after a bit with the given value, or false if a part forbids the value.
func (s *search) step(bit int, tight, value uint64) (uint64, bool) {
	for i, p := range s.parts {
		if bit < int(p.shift) || bit >= int(p.shift)+int(p.bits) {
			continue
		}
		at := bit - int(p.shift)
		lower, upper := uint64(1)<<(2*i), uint64(2)<<(2*i)
		low, high := p.first>>at&1, p.last>>at&1
		if tight&lower != 0 && value < low || tight&upper != 0 && value > high {
			return 0, false
		}
		if value > low {
			tight &^= lower
		}
		if value < high {
			tight &^= upper
		}
	}
	return tight, true
}
