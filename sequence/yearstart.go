package sequence

import (
	"fmt"
	"time"
)

// YearStart is the day on which years begin, in the form of a decimal number mmdd: 401 is April 1. The zero YearStart is January 1. A
// fiscal year is named by the year of its last day: with 401, April 2026 is in the fiscal year 2027.
//
// A day is one of 1 to 28. Months do not have all later days, so quarters could not begin on these.
type YearStart uint16

const maxStartDay = 28

// ParseYearStart returns the day whose text is that of [YearStart.String], such as 04-01. "01-01" is the zero YearStart. The
// error is an [ErrInvalidYearStart].
func ParseYearStart(text string) (YearStart, error) {
	if text == "" {
		return 0, nil
	}
	day, err := time.Parse("01-02", text)
	if err != nil || day.Day() > maxStartDay {
		return 0, fmt.Errorf("%w: %q: expected a month and a day of 01 to %d, such as 04-01", ErrInvalidYearStart, clip(text), maxStartDay)
	}
	if s := YearStart(int(day.Month())*100 + day.Day()); s != 101 {
		return s, nil
	}
	return 0, nil
}

// String returns the day in the form 04-01, and the empty text for January 1.
func (s YearStart) String() string {
	if s == 0 {
		return ""
	}
	m, d := s.day()
	return fmt.Sprintf("%02d-%02d", int(m), d)
}

// day returns the month and the day of the month.
func (s YearStart) day() (m time.Month, d int) {
	if s == 0 {
		return time.January, 1
	}
	return time.Month(s / 100), int(s % 100)
}

// span returns the first day of the span of that many months, 3 or 12, that contains a day. Spans begin on s and every few months
// after it. A day of year 1 before the first span that begins in that year counts to this span.
func (s YearStart) span(months, year int, m time.Month, d int) (int, time.Month, int) {
	startMonth, startDay := s.day()
	month := year*12 + int(m) - 1 // counted from January of the year 0
	if d < startDay {
		month--
	}
	month -= (month - int(startMonth) + 1) % months
	if month < firstYear*12 {
		month += months
	}
	return month / 12, time.Month(month%12 + 1), startDay
}

// fiscal returns the years in which the fiscal year of a day begins and ends, and the day's quarter of it, 1 to 4.
func (s YearStart) fiscal(year int, m time.Month, d int) (first, last, quarter int) {
	startMonth, startDay := s.day()
	months := int(m) - int(startMonth)
	if d < startDay {
		months--
	}
	first = year
	if months < 0 {
		first, months = max(year-1, 0), months+12
	}
	last = first
	if s != 0 {
		last++
	}
	return first, last, months/3 + 1
}
