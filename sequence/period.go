package sequence

import (
	"fmt"
	"time"
)

// Period is a run of a sequence's numbers between two starts. Its value is its first day as yyyymmdd. The
// [Reset] defines the length: 20260301 is the first of March 2026 or all of March, and 20260101 may be all of
// the year. Without a reset the period is 0. Later periods are greater. The days are in the years 1 to 9999 of
// the Gregorian calendar.
type Period int32

const (
	firstYear = 1
	lastYear  = 9999
)

// PeriodAt returns the period that t belongs to, by the calendar of t's location. Times
// before the year 1 belong to the first period, times after the year 9999 to the last.
//
// If clocks are set back across midnight, a later moment can belong to an earlier period: an issuer of numbers
// must stay in the period that began.
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

// String returns the period's first day in the form 2026-03-01, and the empty text for 0.
func (p Period) String() string {
	if p == 0 {
		return ""
	}
	year, m, d := p.day()
	return time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// ParsePeriod returns the period whose text is that of [Period.String]. The error is an [ErrInvalidPeriod].
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

// Valid reports whether p is a period of r: 0 without a reset, otherwise the first day of a day, a month or a
// year on the calendar. A day that a time zone skipped is valid too.
func (p Period) Valid(r Reset) bool {
	if p <= 0 || r == ResetNone {
		return p == 0 && r == ResetNone
	}
	year, m, d := p.day()
	if year < firstYear || year > lastYear {
		return false
	}
	back := time.Date(year, m, d, 0, 0, 0, 0, time.UTC) // moves a day that is not on the calendar
	return PeriodAt(r, back) == p
}

// Start returns the first instant of a valid period in the location: the first instant whose date is not before
// the period's first day. It need not be a midnight. Start returns the zero Time for 0, the period of sequences
// without a reset.
func (p Period) Start(loc *time.Location) time.Time {
	if p == 0 {
		return time.Time{}
	}
	year, m, d := p.day()
	return firstInstant(year, m, d, loc)
}

// PeriodEnd returns the first instant of the period after the valid period p, in the location: the first
// instant at which [PeriodAt] is greater than p. It returns the zero Time if there is no such period: without a
// reset, and for the last period of the year 9999.
//
// A period is empty, with its end at its start, if the location skipped all of it. Samoa skipped 2011-12-30
// when it moved across the date line.
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

// Clamp returns t if it is in the period p of r, otherwise the nearest moment in p. A number may be issued in a
// period that has just ended, and the date in its text must be one of that period. Without a reset Clamp
// returns t.
//
// The period must be valid, and is that of t's location. If the location skipped all of the period, Clamp
// returns noon UTC of its first day: the date is right, although it never occurred there.
func Clamp(t time.Time, r Reset, p Period) time.Time {
	if r == ResetNone || within(t, r, p) {
		return t
	}
	start := p.Start(t.Location())
	if PeriodAt(r, t) >= p && !t.Before(start) { // not >: t may be beyond the year 9999
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

// within reports whether t's date is in the period. It is false for dates that [PeriodAt] moves into the years
// 1 to 9999.
func within(t time.Time, r Reset, p Period) bool {
	year, m, d := t.Date()
	return year >= firstYear && year <= lastYear && periodOf(r, year, m, d) == p
}
