package fsm

import (
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// calendar says when the periods of a sequence begin, except for its time zone: proposers compute periods.
type calendar struct {
	reset      uint8  // a commandv1.SequenceReset
	yearStarts uint16 // first day of years and of their quarters as the decimal number mmdd; 0 is January 1
}

// maxStartDay is the last day of a month on which a year may start: each month has it, so quarters can begin on it too.
const maxStartDay = 28

// Periods says when the periods of a sequence begin.
type Periods struct {
	Reset      commandv1.SequenceReset
	YearStarts uint32 // see commandv1.SequenceSpec
	TimeZone   string
}

// PeriodsOf returns the periods of a specification.
func PeriodsOf(spec *commandv1.SequenceSpec) Periods {
	return Periods{spec.GetReset_(), spec.GetYearStarts(), spec.GetTimeZone()}
}

func checkCalendar(spec *commandv1.SequenceSpec) *Refused {
	switch spec.GetReset_() {
	case commandv1.SequenceReset_SEQUENCE_RESET_NONE, commandv1.SequenceReset_SEQUENCE_RESET_DAILY, commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY,
		commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY, commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY, commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:
	default:
		return invalid("reset %v: expected none, daily, weekly, monthly, quarterly or yearly", spec.GetReset_())
	}
	starts := spec.GetYearStarts()
	if month, day := starts/100, starts%100; starts != 0 && (month < 1 || month > 12 || day < 1 || day > maxStartDay || starts == 101) {
		return invalid("start of years %d: expected a month and a day of 1 to %d as mmdd, or 0 for January 1", starts, maxStartDay)
	}
	return nil
}

// needsDocuments reports whether the specification has a calendar, a mode or codes of [DocumentVersion].
func needsDocuments(spec *commandv1.SequenceSpec) bool {
	return spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS || spec.GetReuse() || spec.GetYearStarts() != 0 || spec.GetCode() != nil ||
		spec.GetReset_() > commandv1.SequenceReset_SEQUENCE_RESET_YEARLY
}

func (c calendar) resets() bool {
	return commandv1.SequenceReset(c.reset) != commandv1.SequenceReset_SEQUENCE_RESET_NONE
}

// sameAs reports whether two calendars have the same periods.
func (c calendar) sameAs(other calendar) bool {
	return c.reset == other.reset && (c.months() == 0 || c.yearStarts == other.yearStarts)
}

// months returns the length of periods that begin with years or quarters; 0 for the others.
func (c calendar) months() int32 {
	switch commandv1.SequenceReset(c.reset) {
	case commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY:
		return 3
	case commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:
		return 12
	}
	return 0
}

// checkPeriod checks a period that a proposer computed: 0 without a reset, else a date as the decimal number yyyymmdd. For
// calendars that are older than [DocumentVersion], the proposer ensures that the day exists and begins a period.
func (c calendar) checkPeriod(period int32) error {
	if !c.resets() {
		if period != 0 {
			return fmt.Errorf("a period of %d for a sequence without a reset, expected 0", period)
		}
		return nil
	}
	if err := checkDate(period); err != nil {
		return err
	}
	old := c.yearStarts == 0 && commandv1.SequenceReset(c.reset) <= commandv1.SequenceReset_SEQUENCE_RESET_YEARLY
	year, month, day := period/10_000, period/100%100, period%100
	if !old && (day > daysOf(year, month) || c.periodOf(year, month, day) != period) {
		return fmt.Errorf("a period of %d, which is not the first day of one", period)
	}
	return nil
}

func checkDate(period int32) error {
	year, month, day := period/10_000, period/100%100, period%100
	if year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 {
		return fmt.Errorf("a period of %d, expected the date of its first day as yyyymmdd", period)
	}
	return nil
}

// periodOf returns the period that contains a day from 1970 on.
func (c calendar) periodOf(year, month, day int32) int32 {
	switch commandv1.SequenceReset(c.reset) {
	case commandv1.SequenceReset_SEQUENCE_RESET_NONE:
		return 0
	case commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY:
		const thursday = 3 // 1970-01-01, in days after Monday
		days := daysUntil(year, month, day)
		year, month, day = date(int64(max(days-(days+thursday)%7, 0)) * dayMillis)
	case commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY:
		day = 1
	case commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY, commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:
		startMonth, startDay := int32(c.yearStarts/100), int32(c.yearStarts%100)
		if c.yearStarts == 0 {
			startMonth, startDay = 1, 1
		}
		months := year*12 + month - 1
		if day < startDay {
			months--
		}
		months -= (months - startMonth + 1) % c.months()
		year, month, day = months/12, months%12+1, startDay
	}
	return year*10_000 + month*100 + day
}

// latestPeriod returns the latest period that has begun in any time zone at a time, in Unix ms.
func (c calendar) latestPeriod(at int64) int32 {
	return c.periodOf(date(min(max(at, 0)+latestZone, maxFloor)))
}
