package member

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/trust"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/sequence"
)

// definition is the parsed specification of a sequence.
type definition struct {
	incarnation, generation uint64
	strict, gapless         bool
	calendar                sequence.Calendar
	location                *time.Location
	lateMillis              int64
	format                  *sequence.Format // nil: numbers are written as decimals
}

// define parses the specification of a sequence. It fails for an accepted specification only if a
// newer build accepted it.
func define(s fsm.Sequence) (*definition, error) {
	d, err := settled(s)
	if err == nil && d.format != nil {
		d.format, err = d.format.For(s.Spec.GetName())
	}
	return d, err
}

// settled is define for settings without a name: parts of a name in the format stay open.
func settled(s fsm.Sequence) (*definition, error) {
	spec := s.Spec
	d := &definition{
		incarnation: s.Incarnation, generation: s.Numbering,
		strict:   spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_STRICT,
		gapless:  spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS,
		calendar: calendarOf(fsm.PeriodsOf(spec)), lateMillis: spec.GetLateMs(),
	}
	var err error
	if d.location, err = sequence.LoadLocation(spec.GetTimeZone()); err != nil {
		return nil, err
	}
	if spec.GetFormat() == "" {
		return d, nil
	}
	if d.format, err = d.calendar.ParseFormat(spec.GetFormat()); err != nil {
		return nil, err
	}
	return d, nil
}

func calendarOf(p fsm.Periods) sequence.Calendar {
	return sequence.Calendar{Reset: resets[p.Reset], YearStarts: sequence.YearStart(p.YearStarts)} //nolint:gosec // the state machine has checked it
}

var resets = map[commandv1.SequenceReset]sequence.Reset{
	commandv1.SequenceReset_SEQUENCE_RESET_NONE:      sequence.ResetNone,
	commandv1.SequenceReset_SEQUENCE_RESET_DAILY:     sequence.ResetDaily,
	commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY:    sequence.ResetWeekly,
	commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY:   sequence.ResetMonthly,
	commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY: sequence.ResetQuarterly,
	commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:    sequence.ResetYearly,
}

// CheckSequenceSpec returns the error with which [Member.CreateSequence] refuses a specification in every cluster, unless forced.
func CheckSequenceSpec(spec *commandv1.SequenceSpec) error {
	if err := nfc.Check("sequence name", spec.GetName()); err != nil {
		return err
	}
	_, err := accept(spec, false)
	return err
}

// accept parses a specification that will be proposed. It makes the checks that the state machine,
// which knows no formats and no time zones, cannot make. Unless alike, it also refuses a format that
// would write numbers of different periods alike. It sets the codes of the specification to those of its format.
func accept(spec *commandv1.SequenceSpec, alike bool) (*definition, error) {
	spec.Code = nil
	if err := fsm.CheckSequence(spec); err != nil {
		return nil, err
	}
	d, err := define(fsm.Sequence{Spec: spec})
	if err != nil || d.format == nil {
		return d, err
	}
	if spec.Code = codesOf(d.format); spec.Code != nil {
		if err := fsm.CheckSequence(spec); err != nil {
			return nil, err
		}
	}
	if alike {
		return d, nil
	}
	return d, d.calendar.CheckFormat(d.format)
}

// period returns the period that contains a moment, in Unix milliseconds.
func (d *definition) period(millis int64) int32 {
	return int32(d.calendar.PeriodAt(time.UnixMilli(millis).In(d.location)))
}

// periodEnd returns the end of a period in Unix milliseconds; 0 if it has none.
func (d *definition) periodEnd(period int32) int64 {
	if d.calendar.Reset == sequence.ResetNone || period == 0 {
		return 0
	}
	end := d.calendar.PeriodEnd(sequence.Period(period), d.location)
	if end.IsZero() { // the last representable period
		return 0
	}
	return end.UnixMilli()
}

// PeriodAt returns the period that contains a moment, in Unix milliseconds. It returns 0 without a reset, and for a time zone
// that this program does not know.
func PeriodAt(p fsm.Periods, millis int64) int32 {
	d := &definition{calendar: calendarOf(p)}
	var err error
	if d.location, err = sequence.LoadLocation(p.TimeZone); err != nil {
		return 0
	}
	return d.period(millis)
}

// PeriodEnd returns the end of a period, in Unix milliseconds; 0 in the cases of [PeriodAt], for the period 0, and for the
// last representable period.
func PeriodEnd(p fsm.Periods, period int32) int64 {
	d := &definition{calendar: calendarOf(p)}
	var err error
	if d.location, err = sequence.LoadLocation(p.TimeZone); err != nil {
		return 0
	}
	return d.periodEnd(period)
}

// numbering returns numbers that were issued at a time, in Unix milliseconds, with their format.
func (d *definition) numbering(n allocator.Numbers, millis int64) (Numbering, error) {
	if err := d.checkCodes(n); err != nil {
		return Numbering{}, err
	}
	answer := Numbering{Numbers: n, Strict: d.strict, Format: d.format}
	if d.format != nil {
		p := sequence.Period(n.Period)
		if d.calendar.Reset != sequence.ResetNone && !d.calendar.Valid(p) { // a period of an earlier, shorter reset
			p = d.calendar.PeriodAt(p.Start(d.location))
		}
		answer.At = d.calendar.Clamp(time.UnixMilli(millis).In(d.location), p)
	}
	return answer, nil
}

// Numbering holds numbers of a sequence and their format.
type Numbering struct {
	allocator.Numbers
	Strict bool // the sequence's mode
	// Format is nil for a sequence without one. It has the key of its codes, or Texts is set.
	Format *sequence.Format
	// At is the time that dates in the format show, in the sequence's time zone: the time at which
	// the numbers were issued, moved into their period if it is outside.
	At time.Time
	// Texts holds the numbers as text if another member wrote them, because the format needs a key; nil otherwise.
	Texts []string
}

// Part returns the count numbers that follow the first skip ones.
func (n Numbering) Part(skip, count uint64) Numbering {
	if n.Texts != nil {
		n.Texts = n.Texts[skip : skip+count]
	}
	n.First, n.Count = n.Number(skip), count
	return n
}

// Append appends the number with an index, which must be less than Count, as text.
func (n Numbering) Append(dst []byte, index uint64) []byte {
	number := n.Number(index)
	switch {
	case n.Texts != nil:
		return append(dst, n.Texts[index]...)
	case n.Format == nil:
		return strconv.AppendInt(dst, number, 10)
	}
	return n.Format.Append(dst, number, n.At)
}

// Day returns the first day of the period, in the form 2026-11-22; it is empty without a reset.
func (n Numbering) Day() string { return sequence.Period(n.Period).String() }

// UnknownSequenceError reports that no sequence has this name.
type UnknownSequenceError struct {
	Sequence string
	Near     []string // names that may have been meant
	Never    error    // reason why no sequence can have this name; nil if one can
	Begins   bool     // a template matches the name, so that the sequence begins by its first use
	Deleted  bool     // a template matches the name, but the sequence was deleted
}

func (e *UnknownSequenceError) Error() string {
	switch {
	case e.Never != nil:
		return "unknown sequence: " + e.Never.Error()
	case e.Begins:
		return fmt.Sprintf("sequence %q does not exist yet; it begins with the first request for a number", e.Sequence)
	case e.Deleted:
		return fmt.Sprintf("sequence %q was deleted, and a deleted name does not begin again by its first use; create it with \"snowraft seq create %s\"", e.Sequence, argument(e.Sequence))
	case len(e.Near) == 0:
		return fmt.Sprintf("sequence %q does not exist; create it with \"snowraft seq create %s\"", e.Sequence, argument(e.Sequence))
	}
	var near []string
	for _, name := range e.Near {
		near = append(near, strconv.Quote(name))
	}
	return fmt.Sprintf("sequence %q does not exist; use %s, or create it with \"snowraft seq create %s\"", e.Sequence, strings.Join(near, " or "), argument(e.Sequence))
}

// argument returns a name as an unquoted shell word, or NAME if a shell would interpret parts of the name.
func argument(name string) string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@%+=,", r)
	}
	if strings.HasPrefix(name, "-") || strings.ContainsFunc(name, special) {
		return "NAME"
	}
	return name
}

// CheckSequence returns an [UnknownSequenceError] if no sequence can have this name.
func CheckSequence(name string) error {
	if never := nfc.Check("sequence name", name); never != nil {
		return &UnknownSequenceError{Sequence: name, Never: never}
	}
	return nil
}

// unknownSequence returns the error for a sequence that does not exist, according to settleSequence or
// the log. It searches names that may have been meant, among those that the caller may see.
func (m *Member) unknownSequence(ctx context.Context, name string) error {
	if err := CheckSequence(name); err != nil {
		return err
	}
	const neighbours = 500 // names on each side; similar names usually begin alike
	var around []string
	matched, deleted := false, false
	m.fsm.View(func(s *fsm.State) {
		if _, matched = s.TemplateOf(name); !matched {
			around = s.SequenceNames(name, neighbours)
		}
		deleted = s.DeletedGeneration(name) != 0
	})
	if matched {
		return &UnknownSequenceError{Sequence: name, Begins: !deleted, Deleted: deleted}
	}
	return &UnknownSequenceError{Sequence: name, Near: near(name, around, func(other string) bool {
		return m.cfg.Cluster.Keys == nil || trust.PrincipalOf(ctx).Sees(other)
	})}
}
