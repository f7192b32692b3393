package fsm

import (
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The lengths of a sequence's longest texts, in bytes.
const (
	maxFormatBytes      = 256
	maxDescriptionBytes = 256
)

// sequenceSpec is a commandv1.SequenceSpec without its name, in half the memory and
// comparable.
type sequenceSpec struct {
	start, increment, min, max      int64
	blockMillis, minBlock, maxBlock uint32
	mode, reset                     uint8
	yearStarts                      uint16 // see calendar
	reuse                           bool
	lateMillis                      int64
	code                            code // codes that the format writes; zero if it writes none
	timeZone, format, description   string
	template                        string
}

// CheckSequence returns the [*Refused] with which CreateSequence would refuse a
// specification, or nil. It does not check that the time zone and the format are
// valid, because the state machine does not interpret them.
func CheckSequence(spec *commandv1.SequenceSpec) error {
	if refused := checkSequence(spec); refused != nil {
		return refused
	}
	return nil
}

func checkSequence(spec *commandv1.SequenceSpec) *Refused {
	if err := CheckSequenceName(spec.GetName()); err != nil {
		return invalid("%v", err)
	}
	if pattern := spec.GetTemplate(); pattern != "" && (CheckPattern(pattern) != nil || !matches(pattern, spec.GetName())) {
		return invalid("template %q: expected a pattern that matches sequence %q", pattern, spec.GetName())
	}
	return checkSettings(spec)
}

// checkSettings checks a specification except its name.
func checkSettings(spec *commandv1.SequenceSpec) *Refused {
	switch {
	case spec.GetIncrement() == 0:
		return invalid("increment must not be 0")
	case spec.GetMin() > spec.GetMax():
		return invalid("minimum %d is above maximum %d; lower the minimum or raise the maximum "+
			"(by default the minimum is the start; with a negative increment, the maximum is)", spec.GetMin(), spec.GetMax())
	case spec.GetStart() < spec.GetMin() || spec.GetStart() > spec.GetMax():
		return invalid("start %d: expected %d to %d", spec.GetStart(), spec.GetMin(), spec.GetMax())
	}
	switch spec.GetMode() {
	case commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, commandv1.SequenceMode_SEQUENCE_MODE_STRICT:
		if spec.GetReuse() {
			return invalid("reuse: expected a gapless sequence")
		}
	case commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS:
		if spec.GetIncrement() != 1 {
			return invalid("increment %d: a gapless sequence counts by 1, so that no number between two others lacks an account", spec.GetIncrement())
		}
	default:
		return invalid("mode %v: expected relaxed, strict or gapless", spec.GetMode())
	}
	if refused := checkCalendar(spec); refused != nil {
		return refused
	}
	if ms := spec.GetLateMs(); ms != 0 {
		if least, most := limits.MinLate.Milliseconds(), limits.MaxLate.Milliseconds(); ms < least || ms > most {
			return invalid("late time of %d ms: expected %d to %d ms, or 0 for none", ms, least, most)
		}
		if spec.GetReset_() == commandv1.SequenceReset_SEQUENCE_RESET_NONE {
			return invalid("late time of %d ms: a sequence without a reset has no earlier periods; set a reset, or set the late time to 0", ms)
		}
	}
	least, most := limits.MinBlockDuration.Milliseconds(), limits.MaxBlockDuration.Milliseconds()
	if ms := spec.GetBlockDurationMs(); ms < least || ms > most {
		return invalid("block duration of %d ms: expected %d to %d ms", ms, least, most)
	}
	smallest, largest := spec.GetMinBlock(), spec.GetMaxBlock()
	if largest < 1 || largest > limits.MaxBlock {
		return invalid("largest block of %d numbers: expected 1 to %d", largest, uint64(limits.MaxBlock))
	}
	if smallest < 1 || smallest > largest {
		return invalid("smallest block of %d numbers: expected 1 to %d, the size of the largest block", smallest, largest)
	}
	if err := names.CheckText("description", spec.GetDescription()); err != nil {
		return invalid("%v", err)
	}
	if c, refused := newCode(spec.GetCode()); refused != nil {
		return refused
	} else if refused := c.checkNumbers(spec.GetMin(), spec.GetMax()); refused != nil {
		return refused
	}
	for _, text := range []struct {
		name, value string
		bytes       int
	}{
		{"time zone", spec.GetTimeZone(), limits.ZoneBytes},
		{"format", spec.GetFormat(), maxFormatBytes},
		{"description", spec.GetDescription(), maxDescriptionBytes},
	} {
		if len(text.value) > text.bytes {
			return invalid("%s of %d bytes: expected at most %d bytes", text.name, len(text.value), text.bytes)
		}
		if !utf8.ValidString(text.value) {
			return invalid("%s %q: expected UTF-8", text.name, text.value)
		}
	}
	return nil
}

// compact returns a checked specification in compact form, without its name.
func compact(spec *commandv1.SequenceSpec) *sequenceSpec {
	code, _ := newCode(spec.GetCode())
	return &sequenceSpec{
		code: code, start: spec.GetStart(), increment: spec.GetIncrement(), min: spec.GetMin(), max: spec.GetMax(),
		blockMillis: uint32(spec.GetBlockDurationMs()), minBlock: uint32(spec.GetMinBlock()), maxBlock: uint32(spec.GetMaxBlock()),
		mode: uint8(spec.GetMode()), reset: uint8(spec.GetReset_()), yearStarts: uint16(spec.GetYearStarts()), lateMillis: spec.GetLateMs(),
		timeZone: spec.GetTimeZone(), format: spec.GetFormat(), description: spec.GetDescription(), reuse: spec.GetReuse(),
		template: spec.GetTemplate(),
	}
}

// message is the inverse of compact.
func (s *sequenceSpec) message(name string) *commandv1.SequenceSpec {
	return &commandv1.SequenceSpec{
		Name: name, Start: s.start, Increment: s.increment, Min: s.min, Max: s.max,
		Mode: commandv1.SequenceMode(s.mode), Reset_: commandv1.SequenceReset(s.reset),
		BlockDurationMs: int64(s.blockMillis), MinBlock: uint64(s.minBlock), MaxBlock: uint64(s.maxBlock),
		TimeZone: s.timeZone, Format: s.format, Description: s.description, YearStarts: uint32(s.yearStarts), Template: s.template, LateMs: s.lateMillis,
		Reuse: s.reuse, Code: s.code.message(),
	}
}

func (s *sequenceSpec) calendar() calendar { return calendar{s.reset, s.yearStarts} }

func (s *sequenceSpec) periods() Periods {
	return Periods{commandv1.SequenceReset(s.reset), uint32(s.yearStarts), s.timeZone}
}

// resets reports whether the sequence starts over in each period.
func (s *sequenceSpec) resets() bool { return s.calendar().resets() }

// checkPeriod checks a period that a proposer computed for the specification.
func (s *sequenceSpec) checkPeriod(period int32) error { return s.calendar().checkPeriod(period) }
