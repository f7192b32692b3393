package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

const (
	dayMillis = 86_400_000

	// latestZone is the offset from UTC of the time zone where days begin first; ms.
	latestZone = 14 * 3_600_000
)

// latestPeriod returns the latest period of a reset that has begun in any time zone at a time, in Unix ms.
func latestPeriod(reset commandv1.SequenceReset, at int64) int32 {
	year, month, day := date(min(max(at, 0)+latestZone, maxFloor))
	switch reset {
	case commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:
		month, day = 1, 1
	case commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY:
		day = 1
	}
	return year*10_000 + month*100 + day
}

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
