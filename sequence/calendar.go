package sequence

import "time"

// Calendar divides time into the periods of a sequence. The zero Calendar has one period, which never ends.
type Calendar struct {
	Reset Reset
	// YearStarts is the day on which years begin, and their quarters three, six and nine months later. It decides the periods of
	// ResetYearly and ResetQuarterly, and the fiscal years and quarters in texts.
	YearStarts YearStart
}

// PeriodAt returns the period that t belongs to, by the calendar of t's location. Times before the first period that begins in
// the year 1 belong to that one, times after the year 9999 to the last period.
//
// If clocks are set back across midnight, a later moment can belong to an earlier period: an issuer of numbers
// must stay in the period that began.
func (c Calendar) PeriodAt(t time.Time) Period {
	year, m, d := t.Date()
	switch {
	case year < firstYear:
		year, m, d = firstYear, time.January, 1
	case year > lastYear:
		year, m, d = lastYear, time.December, 31
	}
	return c.periodOf(year, m, d)
}

// periodOf returns the period of a day in the years 1 to 9999.
func (c Calendar) periodOf(year int, m time.Month, d int) Period {
	switch c.Reset {
	case ResetDaily:
	case ResetWeekly:
		sinceMonday := (int(time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Weekday()) + 6) % 7
		year, m, d = time.Date(year, m, d-sinceMonday, 0, 0, 0, 0, time.UTC).Date() // January 1 of the year 1 is a Monday
	case ResetMonthly:
		d = 1
	case ResetQuarterly:
		year, m, d = c.YearStarts.span(3, year, m, d)
	case ResetYearly:
		year, m, d = c.YearStarts.span(12, year, m, d)
	default:
		return 0
	}
	return dayPeriod(year, m, d)
}

// Valid reports whether p is a period of the calendar: 0 without a reset, otherwise the first day of a period. A day that a time
// zone skipped is valid too.
func (c Calendar) Valid(p Period) bool {
	if p <= 0 || c.Reset == ResetNone {
		return p == 0 && c.Reset == ResetNone
	}
	year, m, d := p.day()
	if year < firstYear || year > lastYear {
		return false
	}
	back := time.Date(year, m, d, 0, 0, 0, 0, time.UTC) // moves a day that is not on the calendar
	return c.PeriodAt(back) == p
}

// PeriodEnd returns the first instant of the period after p, in the location: the first instant at which [Calendar.PeriodAt] is
// greater than p. It returns the zero Time if there is no such period: without a reset, and for the last period of the year 9999.
// If p is a day within a period, the end is that of this period.
//
// A period is empty, with its end at its start, if the location skipped all of it. Samoa skipped 2011-12-30
// when it moved across the date line.
func (c Calendar) PeriodEnd(p Period, loc *time.Location) time.Time {
	if c.Reset == ResetNone {
		return time.Time{}
	}
	year, m, d := c.next(p)
	if year > lastYear {
		return time.Time{}
	}
	return firstInstant(year, m, d, loc)
}

// next returns the first day of the period after the one that contains p's day.
func (c Calendar) next(p Period) (year int, m time.Month, d int) {
	year, m, d = c.periodOf(p.day()).day()
	switch c.Reset {
	case ResetDaily:
		d++
	case ResetWeekly:
		d += 7
	case ResetMonthly:
		m++
	case ResetQuarterly:
		m += 3
	default:
		year++
	}
	return time.Date(year, m, d, 0, 0, 0, 0, time.UTC).Date()
}

// Clamp returns t if it is in the period p, otherwise the nearest moment in p. A number may be issued in a
// period that has just ended, and the date in its text must be one of that period. Without a reset Clamp
// returns t.
//
// The period must be valid, and is that of t's location. If the location skipped all of the period, Clamp
// returns noon UTC of its first day: the date is right, although it never occurred there.
func (c Calendar) Clamp(t time.Time, p Period) time.Time {
	if c.Reset == ResetNone || c.within(t, p) {
		return t
	}
	start := p.Start(t.Location())
	if c.PeriodAt(t) >= p && !t.Before(start) { // not >: t may be beyond the year 9999
		year, m, d := c.next(p)
		if last := firstInstant(year, m, d, t.Location()).Add(-time.Nanosecond); c.within(last, p) {
			return last
		}
	}
	if c.within(start, p) {
		return start
	}
	year, m, d := p.day()
	return time.Date(year, m, d, 12, 0, 0, 0, time.UTC)
}

// within reports whether t's date is in the period. It is false for dates that [Calendar.PeriodAt] moves into another year.
func (c Calendar) within(t time.Time, p Period) bool {
	year, m, d := t.Date()
	return year >= firstYear && year <= lastYear && dayPeriod(year, m, d) >= p && c.periodOf(year, m, d) == p
}
