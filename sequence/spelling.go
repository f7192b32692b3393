package sequence

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ReadPeriod returns the period of the calendar that a person writes as its first day, such as 2026-10-01, or shorter, by the
// reset: 2026-W41 for an ISO week, 2026-10 for a month, 2026-Q3 for a quarter, 2026 for a year. If the calendar's years do not
// start on January 1, FY2027 is the fiscal year that ends in 2027, and FY2027-Q3 its third quarter. The error is an
// [ErrInvalidPeriod].
func (c Calendar) ReadPeriod(text string) (Period, error) {
	year, m, d, ok := c.firstDay(text)
	if ok {
		if p := dayPeriod(year, m, d); c.Valid(p) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w: %q: expected %s", ErrInvalidPeriod, clip(text), c.spellings())
}

// firstDay returns the day that a text means. The day may not begin a period.
func (c Calendar) firstDay(text string) (year int, m time.Month, d int, ok bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil && day.Year() >= firstYear {
		year, m, d = day.Date()
		return year, m, d, true
	}
	fiscal := c.YearStarts != 0
	text, prefixed := strings.CutPrefix(text, "FY")
	if prefixed && (!fiscal || c.Reset != ResetYearly && c.Reset != ResetQuarterly) {
		return 0, 0, 0, false
	}
	digits, rest, parted := strings.Cut(text, "-")
	year, ok = digitsOf(digits, 4)
	if !ok || year < firstYear {
		return 0, 0, 0, false
	}
	switch c.Reset {
	case ResetWeekly:
		week, ok := strings.CutPrefix(rest, "W")
		n, valid := digitsOf(week, 2)
		if !ok || !valid {
			return 0, 0, 0, false
		}
		return mondayOf(year, n)
	case ResetMonthly:
		n, ok := digitsOf(rest, 2)
		return year, time.Month(n), 1, ok
	case ResetQuarterly:
		quarter, ok := strings.CutPrefix(rest, "Q")
		n, valid := digitsOf(quarter, 1)
		if !ok || !valid || n < 1 || n > 4 || prefixed != fiscal {
			return 0, 0, 0, false
		}
		year, m, d = c.yearStart(year)
		year, m, d = time.Date(year, m+time.Month(3*(n-1)), d, 0, 0, 0, 0, time.UTC).Date()
		return year, m, d, true
	case ResetYearly:
		if parted || prefixed != fiscal {
			return 0, 0, 0, false
		}
		year, m, d = c.yearStart(year)
		return year, m, d, true
	}
	return 0, 0, 0, false
}

// yearStart returns the first day of a year, or of the fiscal year that ends in it.
func (c Calendar) yearStart(year int) (int, time.Month, int) {
	m, d := c.YearStarts.day()
	if c.YearStarts != 0 {
		year--
	}
	return year, m, d
}

// mondayOf returns the first day of an ISO week, if the year has that week.
func mondayOf(year, week int) (int, time.Month, int, bool) {
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC) // always in the first week
	monday := fourth.AddDate(0, 0, 7*(week-1)-(int(fourth.Weekday())+6)%7)
	of, n := monday.ISOWeek()
	y, m, d := monday.Date()
	return y, m, d, of == year && n == week
}

// digitsOf returns the number of a text of so many digits.
func digitsOf(text string, count int) (n int, ok bool) {
	if len(text) != count {
		return 0, false
	}
	u, err := strconv.ParseUint(text, 10, 16)
	return int(u), err == nil
}

// spellings describes the texts that ReadPeriod accepts.
func (c Calendar) spellings() string {
	fiscal := ""
	if c.YearStarts != 0 {
		fiscal = "FY"
	}
	switch c.Reset {
	case ResetDaily:
		return "a day, such as 2026-10-05"
	case ResetWeekly:
		return "a week, such as 2026-W41, or its Monday, such as 2026-10-05"
	case ResetMonthly:
		return "a month, such as 2026-10 or 2026-10-01"
	case ResetQuarterly:
		return "a quarter, such as " + fiscal + "2026-Q3, or its first day"
	case ResetYearly:
		return "a year, such as " + fiscal + "2026, or its first day"
	}
	return "no period, because the sequence has no reset"
}
