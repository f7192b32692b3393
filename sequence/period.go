package sequence

import (
	"fmt"
	"time"
)

// Period is a run of a sequence's numbers between two starts, by its first day as
// yyyymmdd: 20260301 is the first of March 2026, all of March, or, were it the first of
// January, all of the year, as the [Reset] says. Without a reset it is 0. Later periods
// are greater. The days lie in the years 1 to 9999 of the Gregorian calendar.
type Period int32

const (
	firstYear = 1
	lastYear  = 9999
)

// PeriodAt returns the period that t belongs to, by the calendar of t's location. Times
// before the year 1 belong to the first period, times after the year 9999 to the last.
//
// Where clocks are set back across midnight, a later moment can belong to an earlier
// period: who issues numbers has to stay in the period that began.
func PeriodAt(r Reset, t time.Time) Period {
	year, m, d := t.Date()
	switch {
	case year < firstYear:
		year, m, d = firstYear, time.January, 1
	case year > lastYear:
		year, m, d = lastYear, time.December, 31
	}
	return periodOf(r, year, m, d)
}

func periodOf(r Reset, year int, m time.Month, d int) Period {
	switch r {
	case ResetDaily:
	case ResetMonthly:
		d = 1
	case ResetYearly:
		m, d = time.January, 1
	default:
		return 0
	}
	return Period(year*10_000 + int(m)*100 + d)
}

// day returns the period's first day.
func (p Period) day() (year int, m time.Month, d int) {
	return int(p / 10_000), time.Month(p / 100 % 100), int(p % 100)
}

// String returns the period's first day as 2026-03-01, and the empty text for 0.
func (p Period) String() string {
	if p == 0 {
		return ""
	}
	year, m, d := p.day()
	return time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// ParsePeriod returns the period that [Period.String] wrote. Its error is [ErrInvalidPeriod].
func ParsePeriod(text string) (Period, error) {
	if text == "" {
		return 0, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < firstYear {
		return 0, fmt.Errorf("%w: %q: expected its first day, such as 2026-03-01", ErrInvalidPeriod, text)
	}
	return PeriodAt(ResetDaily, day), nil
}

// Valid reports whether p is a period of r: 0 without a reset, else a day of the
// calendar with which a day, a month or a year begins. A day that a time zone left out
// is valid too.
func (p Period) Valid(r Reset) bool {
	if p <= 0 || r == ResetNone {
		return p == 0 && r == ResetNone
	}
	year, m, d := p.day()
	if year < firstYear || year > lastYear {
		return false
	}
	back := time.Date(year, m, d, 0, 0, 0, 0, time.UTC) // moves on what is not on the calendar
	return PeriodAt(r, back) == p
}

// Start returns the first instant of a valid period in the location: the first one whose
// date is not before the period's first day, which need not be a midnight. It is the zero
// Time for 0, the period of sequences without a reset.
func (p Period) Start(loc *time.Location) time.Time {
	if p == 0 {
		return time.Time{}
	}
	year, m, d := p.day()
	return firstInstant(year, m, d, loc)
}

// PeriodEnd returns the first instant of the period after p, which is valid, in the
// location: the first one at which [PeriodAt] is greater than p. The zero Time means that
// there is none: without a reset, and for the last period of the year 9999.
//
// A period is empty, with its end at its start, if the location left out all of it, as
// Samoa did with 2011-12-30 when it changed sides of the date line.
func PeriodEnd(r Reset, p Period, loc *time.Location) time.Time {
	year, m, d := p.next(r)
	if year > lastYear || r == ResetNone {
		return time.Time{}
	}
	return firstInstant(year, m, d, loc)
}

// next returns the first day of the next period.
func (p Period) next(r Reset) (year int, m time.Month, d int) {
	year, m, d = p.day()
	switch r {
	case ResetDaily:
		return time.Date(year, m, d+1, 0, 0, 0, 0, time.UTC).Date()
	case ResetMonthly:
		return time.Date(year, m+1, 1, 0, 0, 0, 0, time.UTC).Date()
	}
	return year + 1, time.January, 1
}

// Clamp returns t, or the moment nearest to it in the period p of r if it is not in there:
// a number may be issued of a period that has just ended, and the date that is written
// with it must be one of its own period. Without a reset it returns t.
//
// The period is valid, and in t's location. If that left out all of the period, Clamp
// returns noon, UTC, of its first day: the date is right, though never seen there.
func Clamp(t time.Time, r Reset, p Period) time.Time {
	if r == ResetNone || within(t, r, p) {
		return t
	}
	start := p.Start(t.Location())
	if PeriodAt(r, t) >= p && !t.Before(start) { // not less: it may lie beyond the year 9999
		year, m, d := p.next(r)
		if last := firstInstant(year, m, d, t.Location()).Add(-time.Nanosecond); within(last, r, p) {
			return last
		}
	}
	if within(start, r, p) {
		return start
	}
	year, m, d := p.day()
	return time.Date(year, m, d, 12, 0, 0, 0, time.UTC)
}

// within reports whether t's date is one of the period, which no date is that
// [PeriodAt] had to move into the years 1 to 9999.
func within(t time.Time, r Reset, p Period) bool {
	year, m, d := t.Date()
	return year >= firstYear && year <= lastYear && periodOf(r, year, m, d) == p
}
