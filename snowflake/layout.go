package snowflake

import (
	"fmt"
	"slices"
)

// Layout is a checked, immutable way to split the bits of an ID. [New] makes a Layout, and [Preset] returns a
// predefined one; the zero Layout is not usable.
type Layout struct {
	spec   Spec
	epoch  int64  // Unix ms of tick 0
	unit   int64  // ms per tick; 0 if a tick is shorter
	per    uint64 // ticks per ms if a tick is shorter
	bits   uint8
	at     [len(fieldNames)]span // indexed by Field; zero for a field that the layout does not have
	fixed  uint64                // bits of the datacenter, equal in every ID
	spread uint64                // at least 1, so that StartSequence needs no branch
}

// span is the position of a field within an ID. The zero span holds only 0.
type span struct{ shift, bits uint8 }

func (s span) of(id uint64) uint64 { return id >> s.shift & (1<<s.bits - 1) }

// New checks spec and returns its layout. It keeps a copy, so the caller may change spec afterwards. The error,
// if any, is an [ErrInvalidLayout]. A layout that New accepts can decode; [Layout.CanIssue] reports whether it
// can also issue.
func New(spec Spec) (*Layout, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	spec.Fields = slices.Clone(spec.Fields)
	l := &Layout{
		spec:   spec,
		epoch:  spec.EpochMillis,
		unit:   spec.UnitMillis,
		spread: max(1, spec.Spread),
	}
	if spec.TicksPerMilli > 1 {
		l.unit, l.per = 0, uint64(spec.TicksPerMilli)
	}
	for _, f := range slices.Backward(spec.Fields) {
		l.at[f.Field] = span{shift: l.bits, bits: f.Bits}
		l.bits += f.Bits
	}
	l.fixed = spec.Datacenter << l.at[FieldDatacenter].shift
	return l, nil
}

// MustNew is [New] for layouts known to be valid, such as presets. It panics
// where New returns an error.
func MustNew(spec Spec) *Layout {
	l, err := New(spec)
	if err != nil {
		panic(err)
	}
	return l
}

// Spec returns a copy of the description that the layout was made from.
func (l *Layout) Spec() Spec {
	spec := l.spec
	spec.Fields = slices.Clone(spec.Fields)
	return spec
}

// Name returns the layout's name.
func (l *Layout) Name() string { return l.spec.Name }

// Bits returns the width of all fields together, 1 to 64.
func (l *Layout) Bits() int { return int(l.bits) }

// SequenceBits returns the width of the sequence field, 0 if there is none.
func (l *Layout) SequenceBits() uint8 { return l.at[FieldSequence].bits }

// Workers returns the number of workers of the layout: they are [0, Workers()). 0 means that the layout has no
// worker field.
func (l *Layout) Workers() uint64 { return capacity(l.at[FieldWorker].bits) }

// Sequences returns the number of IDs for each tick and worker: their sequences are [0, Sequences()). 0 means
// that the layout has no sequence field.
func (l *Layout) Sequences() uint64 { return capacity(l.at[FieldSequence].bits) }

// Ticks returns the number of ticks that the time field holds: they are [0, Ticks()).
func (l *Layout) Ticks() uint64 { return capacity(l.at[FieldTime].bits) }

// CanIssue returns nil if the layout can issue IDs at nowMillis, in Unix milliseconds, otherwise the reason.
//
// The error is an [ErrInvalidLayout] if the layout can only decode or lease, because of one of these properties:
//   - It is for leases only: other programs make its IDs.
//   - It is wider than 63 bits: IDs would be negative in languages without unsigned numbers.
//   - It has no worker or no sequence field: two issuers, or two IDs in one tick, would collide.
//   - It has another field above time: IDs would not sort by time.
//   - Its tick is shorter than 1 ms.
//   - Its epoch is in the future.
//
// The error is an [ErrExhausted] if the time field is full.
func (l *Layout) CanIssue(nowMillis int64) error {
	switch {
	case l.spec.LeaseOnly:
		return fmt.Errorf("%w: %q only leases workers; issue IDs from another layout", ErrInvalidLayout, l.Name())
	case l.bits > issuedBits:
		return fmt.Errorf("%w: %q has %d bits; a layout that issues IDs has at most %d", ErrInvalidLayout, l.Name(), l.bits, issuedBits)
	case l.Sequences() == 0:
		return fmt.Errorf("%w: %q has no sequence field; add one to issue IDs", ErrInvalidLayout, l.Name())
	case l.spec.Fields[0].Field != FieldTime:
		return fmt.Errorf("%w: %q has %v as its highest field; put time first, so that IDs sort by time", ErrInvalidLayout, l.Name(), l.spec.Fields[0].Field)
	}
	return l.hasWindows(nowMillis)
}

// CanLease returns nil if a cluster can have the layout and lease its workers at nowMillis, in Unix milliseconds, otherwise
// the reason. A layout that is not for leases only must be able to issue.
//
// The error is an [ErrInvalidLayout] if a layout for leases only has no worker field, ticks shorter than 1 ms, more than 62
// bits of time or an epoch in the future. It is an [ErrExhausted] if the time field is full.
func (l *Layout) CanLease(nowMillis int64) error {
	if !l.spec.LeaseOnly {
		return l.CanIssue(nowMillis)
	}
	return l.hasWindows(nowMillis)
}

// hasWindows returns nil if a worker can have a window at nowMillis.
func (l *Layout) hasWindows(nowMillis int64) error {
	switch {
	case l.Workers() == 0:
		return fmt.Errorf("%w: %q has no worker field; add one to issue IDs", ErrInvalidLayout, l.Name())
	case l.at[FieldTime].bits > maxTimeBits:
		return fmt.Errorf("%w: %q has %d bits of time; a layout that leases workers has at most %d", ErrInvalidLayout, l.Name(), l.at[FieldTime].bits, maxTimeBits)
	case l.unit == 0:
		return fmt.Errorf("%w: %q has %d ticks per ms; a layout that issues IDs has ticks of whole milliseconds", ErrInvalidLayout, l.Name(), l.per)
	case nowMillis < l.epoch:
		return fmt.Errorf("%w: %q has its epoch at %s, which is in the future; choose an epoch before now (%s)", ErrInvalidLayout, l.Name(), stamp(l.epoch), stamp(nowMillis))
	case uint64(l.TickAt(nowMillis)) >= l.Ticks(): // at most 2^62 here: a saturated tick is beyond them too
		return fmt.Errorf("%w: %q has been full since %s (now: %s); choose a later epoch or more bits of time", ErrExhausted, l.Name(), stamp(l.ExhaustsAt()), stamp(nowMillis))
	}
	return nil
}
