package sequence

import "time"

// date holds the numbers that the parts of dates write for one moment, by their kind. The numbers of the kinds that a format does
// not have may be missing.
type date [kindCount]int

// dateOf returns the numbers of some kinds at a moment, on the calendar and the clock of its location. Years are moved into 0 to
// 9999; the last fiscal year may reach 10000.
func dateOf(at time.Time, s YearStart, some kinds) (d date) {
	y, m, dd := at.Date()
	d[year], d[month], d[day] = clampYear(y), int(m), dd
	d[hour], d[minute], d[second] = at.Clock()
	if some&fiscalKinds != 0 {
		d[fiscalFirstYear], d[fiscalYear], d[quarter] = s.fiscal(d[year], m, dd)
	}
	if some&weekKinds != 0 {
		d[weekYear], d[week] = at.ISOWeek()
		d[weekYear] = clampYear(d[weekYear])
	}
	if some.has(dayOfYear) {
		d[dayOfYear] = at.YearDay()
	}
	return d
}

func clampYear(year int) int { return min(max(year, 0), lastYear) }
