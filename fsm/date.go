package fsm

const (
	dayMillis = 86_400_000

	// latestZone is the offset from UTC of the time zone where days begin first; ms.
	latestZone = 14 * 3_600_000
)

// date returns the date in UTC of a time between 1970 and 9999, in Unix ms.
func date(at int64) (year, month, day int32) {
	day = int32(at/dayMillis) + 1
	for year = 1970; day > 365+leapDays(year); year++ {
		day -= 365 + leapDays(year)
	}
	for month = 1; day > daysOf(year, month); month++ {
		day -= daysOf(year, month)
	}
	return year, month, day
}

// daysUntil returns the number of days from 1970-01-01 until a date.
func daysUntil(year, month, day int32) (days int32) {
	for y := int32(1970); y < year; y++ {
		days += 365 + leapDays(y)
	}
	for m := int32(1); m < month; m++ {
		days += daysOf(year, m)
	}
	return days + day - 1
}

func daysOf(year, month int32) int32 {
	switch month {
	case 2:
		return 28 + leapDays(year)
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func leapDays(year int32) int32 {
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 1
	}
	return 0
}
