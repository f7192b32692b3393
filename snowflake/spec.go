package snowflake

import "fmt"

const (
	maxNameBytes     = 64
	maxUnitMillis    = 3_600_000
	maxTicksPerMilli = 1_000_000
)

// Spec describes a layout. It is plain data; [New] checks it.
type Spec struct {
	// Name is 1 to 64 bytes of [a-z0-9._-] and starts with a letter or a digit.
	Name string

	// Fields lists the fields from the highest bits to the lowest. Each field appears at most once and is 1 to
	// 63 bits wide, time is present, and the sum of the widths is at most 64. The remaining bits above the
	// first field are zero.
	Fields []FieldBits

	// UnitMillis is the length of one tick in milliseconds, 1 to 3,600,000.
	UnitMillis int64

	// TicksPerMilli is the number of ticks in a millisecond, 2 to 1,000,000, for a tick that is shorter; 0 for others.
	// UnitMillis is 1 then. Such a layout only decodes.
	TicksPerMilli int64

	// EpochMillis is the start of tick 0 in Unix milliseconds. It may be negative.
	EpochMillis int64

	// Datacenter is the value of the datacenter field in every ID of this cluster. It must fit the field, and
	// must be 0 if there is no such field.
	Datacenter uint64

	// Spread is the number of sequences at which a fresh tick can start: 0 to Spread-1, by a hash of the tick.
	// Under little traffic, IDs taken modulo a shard count up to Spread then reach every shard. With 0 and 1, every
	// tick starts at 0. A greater Spread must not exceed the capacity of the sequence field. [DefaultSpread]
	// returns a suitable one.
	Spread uint64

	// LeaseOnly layouts have workers for programs that make IDs of their own. Snowraft issues no IDs of such a layout.
	LeaseOnly bool

	// Past layouts have ticks before their creation in which no worker ever has a window: a cluster issues IDs of them to
	// backfill jobs only. Such a layout must be able to issue IDs.
	Past bool
}

// DefaultSpread returns the Spread of presets and new layouts: a quarter of the sequence field and at least 64, or all of
// the field if it is smaller. The rest is left for bursts; 0 without a sequence field.
func DefaultSpread(fields []FieldBits) uint64 {
	for _, f := range fields {
		if f.Field == FieldSequence && f.Bits > 0 {
			all := capacity(f.Bits)
			return min(all, max(64, all/4))
		}
	}
	return 0
}

func (s Spec) validate() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if err := checkFields(s.Fields); err != nil {
		return err
	}
	if s.UnitMillis < 1 || s.UnitMillis > maxUnitMillis {
		return fmt.Errorf("%w: tick of %d ms, expected 1 to %d ms", ErrInvalidLayout, s.UnitMillis, maxUnitMillis)
	}
	if s.TicksPerMilli != 0 && (s.UnitMillis != 1 || s.TicksPerMilli < 2 || s.TicksPerMilli > maxTicksPerMilli) {
		return fmt.Errorf("%w: %d ticks per %d ms, expected 2 to %d ticks per ms", ErrInvalidLayout, s.TicksPerMilli, s.UnitMillis, maxTicksPerMilli)
	}
	if s.Past && s.LeaseOnly {
		return fmt.Errorf("%w: a layout that only leases workers has no past; other programs make its IDs", ErrInvalidLayout)
	}
	switch width := bitsOf(s.Fields, FieldDatacenter); {
	case width == 0 && s.Datacenter != 0:
		return fmt.Errorf("%w: datacenter %d: must be 0 without a datacenter field", ErrInvalidLayout, s.Datacenter)
	case s.Datacenter>>width != 0:
		return fmt.Errorf("%w: datacenter %d does not fit its field, expected 0 to %d", ErrInvalidLayout, s.Datacenter, capacity(width)-1)
	}
	switch width := bitsOf(s.Fields, FieldSequence); {
	case s.Spread <= 1: // starts at 0, which needs no field
	case width == 0:
		return fmt.Errorf("%w: spread %d: must be 0 or 1 without a sequence field", ErrInvalidLayout, s.Spread)
	case s.Spread > capacity(width):
		return fmt.Errorf("%w: spread %d exceeds the sequence field, expected 0 to %d", ErrInvalidLayout, s.Spread, capacity(width))
	}
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("%w: name of %d bytes, expected 1 to %d", ErrInvalidLayout, len(name), maxNameBytes)
	}
	for i := range len(name) {
		c := name[i]
		alphanumeric := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if alphanumeric || i > 0 && (c == '.' || c == '_' || c == '-') {
			continue
		}
		return fmt.Errorf("%w: name %q has %q at byte %d, expected a-z, 0-9 and, except at the start, '.', '_' and '-'", ErrInvalidLayout, name, name[i:i+1], i)
	}
	return nil
}

// capacity returns the number of values that a field of that width holds; 0 without a field.
func capacity(width uint8) uint64 {
	if width == 0 {
		return 0
	}
	return 1 << width
}
