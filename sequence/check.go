package sequence

import (
	"fmt"
	"time"
)

// CheckFormat returns an [ErrInvalidFormat] if f writes some moment of a period exactly like some moment of another one, so that
// texts would repeat. It returns nil if the texts of two periods always differ, whenever they are written. A format without
// a year of four digits need only distinguish periods less than 100 years apart, where 100 years of weeks are 5,217 of them.
//
// Without a reset CheckFormat accepts every format. It always accepts nil, the absence of a format: the reader then has to
// distinguish the periods.
func (c Calendar) CheckFormat(f *Format) error {
	if f == nil || c.Reset == ResetNone {
		return nil
	}
	// Equal texts have an equal year, of whatever kind, so their days are close. Their differences depend on which of the years
	// around them are leap years, and on the weekdays. All combinations occur in these years: each other one occurs in a century
	// without a leap day too, and all that these do is to shift the weekdays.
	written := make(map[[kindCount]uint16]int, checkedDays)
	for n := range checkedDays {
		d := dateOf(checkedDay(n), f.yearStarts, f.dates)
		var text [kindCount]uint16
		for k := range d {
			if f.dates.has(kind(k)) {
				text[k] = uint16(d[k])
			}
		}
		first, found := written[text]
		if !found {
			written[text] = n
			continue
		}
		one, other := checkedDay(first), checkedDay(n)
		if p, q := c.PeriodAt(one), c.PeriodAt(other); p != q {
			return fmt.Errorf("%w: %q with the reset %v writes %s, in the period of %v, like %s, in the period of %v; add %s, or set force_format",
				ErrInvalidFormat, f.text, c.Reset, one.Format(time.DateOnly), p, other.Format(time.DateOnly), q, c.example())
		}
	}
	return nil
}

// checkedDays is the number of days in the 32 years from 2026 on.
const checkedDays = 32*365 + 8

func checkedDay(n int) time.Time { return time.Date(2026, time.January, 1+n, 0, 0, 0, 0, time.UTC) }

// example returns parts that distinguish the periods of the calendar.
func (c Calendar) example() string {
	switch c.Reset {
	case ResetDaily:
		return "{date:yyyyMMdd}"
	case ResetWeekly:
		return "{weekyear}{week}"
	case ResetMonthly:
		return "{date:yyyyMM}"
	case ResetQuarterly:
		return "{fy}{quarter}"
	}
	if c.YearStarts == 0 {
		return "{date:yyyy}"
	}
	return "{fy}"
}
