package snowflake

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	uuidMillisBits  = 48 // Unix milliseconds
	uuidPayloadBits = 74 // bits that version 7 leaves to the maker of the UUID
)

// UUIDTag fills the bits of a UUID that an ID leaves, so that UUIDs of different clusters and layouts differ
// although their IDs may be equal. The zero tag fills these bits with zeros.
type UUIDTag struct {
	high uint16 // the upper 10 of 74 bits
	low  uint64
}

// NewUUIDTag returns the tag of a layout in a cluster: 74 bits of a SHA-256 over both names. A UUID has room
// for the lowest bits of the tag: 74 minus the widths of the layout's fields other than time. These are 52 bits
// for the layout "default", and at least 11. Two tags agree in n bits with a probability of 1 in 2^n. If they
// differ in these bits, their UUIDs never collide.
func NewUUIDTag(cluster, layout string) UUIDTag {
	text := make([]byte, 0, 128)
	text = append(text, "snowraft uuid v7\x00"...)
	text = binary.BigEndian.AppendUint64(text, uint64(len(cluster))) // otherwise "a", "bc" would equal "ab", "c"
	text = append(text, cluster...)
	text = append(text, layout...)
	sum := sha256.Sum256(text)
	return UUIDTag{
		high: binary.BigEndian.Uint16(sum[:2]) >> (16 - (uuidPayloadBits - 64)),
		low:  binary.BigEndian.Uint64(sum[2:10]),
	}
}

// UUID returns an ID as a UUID of version 7, from the highest bits to the lowest:
//
//	48 bits  Unix milliseconds: the start of the ID's tick
//	 4 bits  the version, 7
//	 n bits  the ID's other fields, in the order of the layout      \  74 bits around
//	 2 bits  the variant, binary 10, at its fixed place              } the variant
//	 rest    the lowest bits of the tag                             /
//
// The UUID keeps all of the ID, because a tick begins at a whole millisecond. Different IDs therefore have
// different UUIDs, and [Layout.FromUUID] returns the ID. If time is the layout's highest field, as in every
// layout that can issue, UUIDs with one tag sort as their IDs do.
//
// The error is an [ErrOutOfRange] if the ID does not belong to the layout, or if its tick does not begin in the
// years 1970 to 10889, the range of 48 bits of Unix milliseconds.
func (l *Layout) UUID(id uint64, tag UUIDTag) (UUID, error) {
	p, err := l.Unpack(id)
	if err != nil {
		return UUID{}, err
	}
	if l.unit == 0 {
		return UUID{}, l.noUUIDs()
	}
	ms := l.MillisAt(p.Tick)
	if ms < 0 || ms>>uuidMillisBits != 0 {
		return UUID{}, fmt.Errorf("%w: ID %d of layout %q is from %s, which is not in a UUID of version 7, expected %s to before %s",
			ErrOutOfRange, id, l.Name(), stamp(ms), stamp(0), stamp(1<<uuidMillisBits))
	}
	room := l.tagBits()
	low, high := shiftLeft(l.withoutTime(id), room)
	tagMaskLow, tagMaskHigh := shiftLeft(1, room)
	if tagMaskLow == 0 { // 2^room - 1, in two words
		tagMaskHigh--
	}
	tagMaskLow--
	low |= tag.low & tagMaskLow
	high |= uint64(tag.high) & tagMaskHigh

	var u UUID
	binary.BigEndian.PutUint64(u[:], uint64(ms)<<16|uuidVersion<<12|high<<2|low>>62)
	binary.BigEndian.PutUint64(u[8:], uuidVariant<<62|low&(1<<62-1))
	return u, nil
}

// noUUIDs returns the error of a layout whose ticks begin within milliseconds.
func (l *Layout) noUUIDs() error {
	return fmt.Errorf("%w: the ticks of layout %q are shorter than 1 ms, which a UUID of version 7 does not show", ErrOutOfRange, l.Name())
}

// FromUUID returns the ID from which [Layout.UUID] made u. It does not check the tag: a caller that knows the
// tag makes the UUID again and compares.
//
// The error is an [ErrOutOfRange] if u does not have version 7 and the variant of RFC 9562, or if its time is
// not the start of a tick in the layout's time field. Then u does not belong to this layout.
func (l *Layout) FromUUID(u UUID) (uint64, error) {
	if u.Version() != uuidVersion || u[8]>>6 != uuidVariant {
		return 0, fmt.Errorf("%w: UUID %v has version %d and variant %d, expected version %d and variant %d", ErrOutOfRange, u, u.Version(), u[8]>>6, uuidVersion, uuidVariant)
	}
	if l.unit == 0 {
		return 0, l.noUUIDs()
	}
	upper, lower := binary.BigEndian.Uint64(u[:]), binary.BigEndian.Uint64(u[8:])
	ms := int64(upper >> 16)
	since := uint64(ms) - uint64(l.epoch) // the difference of two int64 always fits
	if ms < l.epoch || since/uint64(l.unit) >= l.Ticks() {
		return 0, fmt.Errorf("%w: UUID %v is from %s, expected %s to before %s in layout %q", ErrOutOfRange, u, stamp(ms), stamp(l.epoch), stamp(l.ExhaustsAt()), l.Name())
	}
	if rest := since % uint64(l.unit); rest != 0 {
		return 0, fmt.Errorf("%w: UUID %v is from %s, %d ms after the start of a tick, expected the start of a tick of %d ms in layout %q", ErrOutOfRange, u, stamp(ms), rest, l.unit, l.Name())
	}
	high, low := upper&0xfff>>2, upper<<62|lower&(1<<62-1)
	return l.withTime(shiftRight(low, high, l.tagBits()), since/uint64(l.unit)), nil
}

// tagBits returns how many of the 74 bits are left for the tag, 11 to 74.
func (l *Layout) tagBits() uint8 { return uuidPayloadBits - (l.bits - l.at[FieldTime].bits) }

// withoutTime returns id without the time field, with the bits above it moved down.
func (l *Layout) withoutTime(id uint64) uint64 {
	at := l.at[FieldTime]
	return id>>(at.shift+at.bits)<<at.shift | id&(1<<at.shift-1)
}

// withTime is the inverse of withoutTime.
func (l *Layout) withTime(rest, tick uint64) uint64 {
	at := l.at[FieldTime]
	return rest>>at.shift<<(at.shift+at.bits) | tick<<at.shift | rest&(1<<at.shift-1)
}

// shiftLeft returns n times 2^by in two words, for any by below 128.
func shiftLeft(n uint64, by uint8) (low, high uint64) {
	if by >= 64 {
		return 0, n << (by - 64)
	}
	return n << by, n >> (64 - by)
}

// shiftRight returns the two words divided by 2^by, rounded down. The result must fit one word.
func shiftRight(low, high uint64, by uint8) uint64 {
	if by >= 64 {
		return high >> (by - 64)
	}
	return low>>by | high<<(64-by)
}
