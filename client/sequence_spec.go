package client

import (
	"fmt"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// SequenceMode is the guarantee of a sequence about the order of its numbers. The zero SequenceMode is ModeStrict.
type SequenceMode uint8

const (
	// ModeStrict guarantees that each number is greater than all numbers that were returned before it was requested
	// (smaller, if the increment is negative). The leader issues the numbers.
	ModeStrict SequenceMode = iota
	// ModeRelaxed guarantees numbers that ascend per member. Each member issues them from blocks in its memory. This is
	// faster, and continues for a while without a quorum.
	ModeRelaxed
	// ModeGapless accounts for every number: it is reserved under a key, and then confirmed or void; see [Sequence.Reserve]. The
	// increment is 1, and other calls for numbers fail with ErrGaplessSequence.
	ModeGapless
)

// String returns "strict", "relaxed" or "gapless".
func (m SequenceMode) String() string {
	switch m {
	case ModeStrict:
		return "strict"
	case ModeRelaxed:
		return "relaxed"
	case ModeGapless:
		return "gapless"
	default:
		return fmt.Sprintf("mode %d", uint8(m))
	}
}

// SequenceSpec describes a sequence. Only the name is required.
type SequenceSpec struct {
	// Name is 1 to 128 bytes of printable UTF-8 without spaces; case matters.
	Name string
	Mode SequenceMode

	// Start is the first number of each period; nil: 1, or -1 if the increment is negative.
	Start *int64
	// Increment is the difference between a number and its predecessor; not 0; nil: 1.
	Increment *int64
	// Min and Max are the bounds of the numbers, inclusive. Nil: the last int64 in the direction of the increment, and
	// the start in the other direction.
	Min, Max *int64

	// Reset is the interval at which the sequence restarts at Start.
	Reset sequence.Reset
	// YearStarts is the day on which years and their quarters start, for yearly and quarterly resets and for the fiscal years in
	// Format; 0: January 1. See [sequence.YearStart].
	YearStarts sequence.YearStart
	// Late is the time after the end of a period in which its numbers can still be requested; see [Sequence.TakeOf]. 1 s to 366 days;
	// 0: none.
	Late time.Duration
	// TimeZone is the IANA time zone in which periods begin and dates are written; empty: UTC.
	TimeZone string
	// Format is the format of numbers as text, as accepted by [sequence.Calendar.ParseFormat]; empty: decimal.
	Format string
	// Description is at most 256 bytes.
	Description string

	// BlockDuration is the target time that a block of a relaxed sequence lasts, 100 ms to 1 h; 0: 10 s.
	BlockDuration time.Duration
	// MinBlock and MaxBlock bound the numbers in a block, 1 to 100,000,000; 0: 100 and 10,000,000.
	MinBlock, MaxBlock int

	// Reuse lets a gapless sequence reserve numbers of [Sequence.VoidNeverCommitted] again, the lowest of the current period first.
	Reuse bool
}

// message returns the specification as a message of the API.
func (s *SequenceSpec) message() *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: s.Name, Mode: modeOnTheWire(s.Mode), Start: s.Start, Increment: s.Increment, Min: s.Min, Max: s.Max,
		Reset_: resetOnTheWire(s.Reset), TimeZone: s.TimeZone, Format: s.Format, Description: s.Description, YearStarts: s.YearStarts.String(),
		LateMs: wholeMillis(s.Late),
		// Negative counts become large ones, which members reject.
		BlockDurationMs: wholeMillis(s.BlockDuration), MinBlock: uint64(s.MinBlock), MaxBlock: uint64(s.MaxBlock), Reuse: s.Reuse,
	}
}

// wholeMillis returns d in milliseconds. It rounds away from 0, because 0 stands for the default.
func wholeMillis(d time.Duration) int64 {
	millis := d.Milliseconds()
	switch rest := d % time.Millisecond; {
	case rest > 0:
		millis++
	case rest < 0:
		millis--
	}
	return millis
}

// modeOnTheWire returns the mode of the API. For an unknown mode, it returns a value that members reject.
func modeOnTheWire(m SequenceMode) snowraftv1.SequenceMode {
	switch m {
	case ModeStrict:
		return snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	case ModeRelaxed:
		return snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
	case ModeGapless:
		return snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
	default:
		return -1
	}
}

// resetOnTheWire returns the reset of the API. It has the same order, but counts from 1, because 0 means unspecified there.
func resetOnTheWire(r sequence.Reset) snowraftv1.SequenceReset {
	return snowraftv1.SequenceReset(r) + snowraftv1.SequenceReset_SEQUENCE_RESET_NONE
}
