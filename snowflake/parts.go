package snowflake

import (
	"fmt"
	"math/bits"
)

// Parts holds the values of an ID's fields, all at least 0. A field that is not in the layout is 0.
type Parts struct {
	Tick                         int64 // ticks since the layout's epoch
	Datacenter, Worker, Sequence uint64
}

// Compose returns the ID of a tick, worker and sequence, with the datacenter of the
// layout's [Spec].
//
// Compose is meant for issuing and checks nothing. The caller must make sure, once for many IDs, that tick is
// in [0, Ticks()), worker in [0, Workers()) and sequence in [0, Sequences()), and 0 where the layout has no
// such field. Any other value spills into other fields and yields an ID that is not the caller's. [Layout.Pack]
// checks.
func (l *Layout) Compose(tick int64, worker, sequence uint64) uint64 {
	// The masks change no shift, because all shifts are below 64; they spare the compiler's check.
	return l.fixed |
		uint64(tick)<<(l.at[FieldTime].shift&63) |
		worker<<(l.at[FieldWorker].shift&63) |
		sequence<<(l.at[FieldSequence].shift&63)
}

// Step returns the difference between the IDs of two adjacent sequences in one tick: 1 if sequence is the
// lowest field, more in layouts such as Sonyflake's, and 0 without a sequence field.
func (l *Layout) Step() uint64 {
	if l.at[FieldSequence].bits == 0 {
		return 0
	}
	return 1 << l.at[FieldSequence].shift
}

// StartSequence returns the sequence at which a fresh tick starts, in [0, max(1, Spread)). It is a hash of the
// tick, so that ticks reach all of these sequences in whatever rhythm they are used. The tick must not be
// negative.
func (l *Layout) StartSequence(tick int64) uint64 {
	h := uint64(tick) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	start, _ := bits.Mul64(h, l.spread)
	return start
}

// Pack returns the ID of p. Every value must fit its field, and must be 0 where the layout has no such field.
// Otherwise the error is an [ErrOutOfRange] that names field, value and range. The datacenter is that of p,
// which may differ from that of the layout's [Spec].
func (l *Layout) Pack(p Parts) (uint64, error) {
	if p.Tick < 0 {
		return 0, fmt.Errorf("%w: time %d is before the epoch of layout %q, expected 0 to %d", ErrOutOfRange, p.Tick, l.Name(), l.Ticks()-1)
	}
	values := [...]uint64{FieldTime: uint64(p.Tick), FieldDatacenter: p.Datacenter, FieldWorker: p.Worker, FieldSequence: p.Sequence}
	var id uint64
	for field := FieldTime; field <= FieldSequence; field++ {
		value, at := values[field], l.at[field]
		if value>>at.bits != 0 {
			return 0, l.misfit(field, value)
		}
		id |= value << at.shift
	}
	return id, nil
}

func (l *Layout) misfit(field Field, value uint64) error {
	width := l.at[field].bits
	if width == 0 {
		return fmt.Errorf("%w: %v %d in layout %q, which has no such field, expected 0", ErrOutOfRange, field, value, l.Name())
	}
	return fmt.Errorf("%w: %v %d does not fit its %d bits in layout %q, expected 0 to %d", ErrOutOfRange, field, value, width, l.Name(), capacity(width)-1)
}

// Unpack returns the values of id's fields. It is the inverse of [Layout.Pack]. The error is an [ErrOutOfRange]
// if id has bits above [Layout.Bits], and therefore belongs to another layout. Unpack accepts an ID of any
// datacenter.
func (l *Layout) Unpack(id uint64) (Parts, error) {
	if id>>l.bits != 0 {
		return Parts{}, fmt.Errorf("%w: ID %d has bits above the %d of layout %q, expected 0 to %d", ErrOutOfRange, id, l.bits, l.Name(), uint64(1)<<l.bits-1)
	}
	return Parts{
		Tick:       int64(l.at[FieldTime].of(id)),
		Datacenter: l.at[FieldDatacenter].of(id),
		Worker:     l.at[FieldWorker].of(id),
		Sequence:   l.at[FieldSequence].of(id),
	}, nil
}
