// Package collision finds the IDs that two systems could both issue. [Meet] intersects two sets of IDs; [Set] is the main
// type.
package collision

import (
	"slices"

	"github.com/snowraft/snowraft/snowflake"
)

// Set is a set of 64-bit IDs. It holds the IDs whose parts, which are runs of adjacent bits, each lie within bounds. A Set
// never changes. The zero Set holds every ID.
type Set struct {
	parts []part
	empty bool
	over  uint8 // lowest bit above an exhausted time field, from which on all bits are unknown; 0: none
}

// part bounds the value of adjacent bits of an ID.
type part struct {
	shift, bits uint8
	first, last uint64 // both included
}

// All returns the set of IDs that a layout can form with any datacenter and worker, from the tick of the instant from to the
// tick of until. Both ticks are included, and both instants are in Unix milliseconds.
//
// If the time field is exhausted before until, a system either stops, or begins again at tick 0, or lets the time run over into
// the bits above the field. The set then holds the IDs of all three kinds.
func All(l *snowflake.Layout, from, until int64) Set {
	first, last := max(0, l.TickAt(from)), max(l.TickAt(until), l.TickAt(until+1)-1) // until may have several ticks
	if last < first {
		return Set{empty: true}
	}
	if uint64(last) >= l.Ticks() { //nolint:gosec // not before first, which is not negative
		return exhausted(l, uint64(last)) //nolint:gosec // see above
	}
	s := Set{}
	if above := 64 - l.Bits(); above > 0 {
		s.parts = append(s.parts, part{shift: uint8(l.Bits()), bits: uint8(above)}) //nolint:gosec // both are at most 64
	}
	shift, bits, _ := place(l, snowflake.FieldTime)
	s.parts = append(s.parts, part{shift, bits, uint64(first), uint64(last)}) //nolint:gosec // see above
	return s
}

// exhausted returns the set of IDs of a layout whose time field is too narrow for the tick last.
func exhausted(l *snowflake.Layout, last uint64) Set {
	shift, bits, _ := place(l, snowflake.FieldTime)
	if over := shift + bits; int(over) < l.Bits() { // the time runs over into other fields
		return Set{over: over}
	}
	above := 64 - shift
	return Set{parts: []part{{shift, above, 0, min(last, 1<<above-1)}}}
}

// Issued returns the set of IDs that a cluster, or holders of its workers, can issue with a layout after the instant from.
// The instant is in Unix milliseconds.
func Issued(l *snowflake.Layout, from int64) Set {
	return issuedUntil(l, from, l.ExhaustsAt()-1)
}

func issuedUntil(l *snowflake.Layout, from, until int64) Set {
	return All(l, from, until).With(l, snowflake.FieldDatacenter, l.Spec().Datacenter)
}

// Between returns the set of IDs from first to last, both included; the empty set if last is less than first.
func Between(first, last uint64) Set {
	return Set{parts: []part{{0, 64, first, last}}, empty: last < first}
}

// With returns the IDs of s that have the value in the field f of the layout. It returns s if the layout has no such field, or
// if an exhausted time field runs over into it. No ID has a value that is too large for the field.
func (s Set) With(l *snowflake.Layout, f snowflake.Field, value uint64) Set {
	shift, bits, ok := place(l, f)
	if !ok || s.over > 0 && shift >= s.over {
		return s
	}
	s.parts = append(slices.Clip(s.parts), part{shift, bits, value, value})
	s.empty = s.empty || value>>bits != 0
	return s
}

// Has reports whether s holds an ID.
func (s Set) Has(id uint64) bool {
	for _, p := range s.parts {
		// A shift of 64 bits yields 0, so that the mask of a part of 64 bits has all bits.
		if value := id >> p.shift & (1<<p.bits - 1); value < p.first || value > p.last {
			return false
		}
	}
	return !s.empty
}

// Width returns the width of a field in bits, or 0 if the layout has no such field.
func Width(l *snowflake.Layout, f snowflake.Field) uint8 {
	_, bits, _ := place(l, f)
	return bits
}

// place returns the position of a field within the IDs of a layout: its lowest bit and its width.
func place(l *snowflake.Layout, f snowflake.Field) (shift, bits uint8, ok bool) {
	shift = uint8(l.Bits()) //nolint:gosec // at most 64
	for _, have := range l.Spec().Fields {
		shift -= have.Bits
		if have.Field == f {
			return shift, have.Bits, true
		}
	}
	return 0, 0, false
}
