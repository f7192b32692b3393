package sequence

import (
	"fmt"
	"time"
)

// Period is a run of a sequence's numbers between two starts. Its value is its first day as yyyymmdd. The
// [Calendar] defines the length: 20260301 is the first of March 2026 or all of March, and 20260101 may be all of
// the year. Without a reset the period is 0. Later periods are greater. The days are in the years 1 to 9999 of
// the Gregorian calendar.
type Period int32

const (
	firstYear = 1
	lastYear  = 9999
)

// dayPeriod returns the period that begins on a day.
func dayPeriod(year int, m time.Month, d int) Period {
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
	return dayPeriod(day.Date()), nil
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
