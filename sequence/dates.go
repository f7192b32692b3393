package sequence

import (
	"fmt"
	"strings"
)

// DateParts is a set of the parts of a date.
type DateParts uint8

const (
	// DateYear is a year of four digits. Two digits are [DateShortYear].
	DateYear DateParts = 1 << iota
	// DateMonth is a month, 01 to 12.
	DateMonth
	// DateDay is a day of the month, 01 to 31.
	DateDay
	// DateHour is an hour, 00 to 23.
	DateHour
	// DateMinute is a minute, 00 to 59.
	DateMinute
	// DateSecond is a second, 00 to 59.
	DateSecond
	// DateShortYear is a year of two digits. It distinguishes the years of a century.
	DateShortYear
)

var datePartNames = [...]string{"year", "month", "day", "hour", "minute", "second", "two-digit year"}

// Has reports whether the set contains all of these parts.
func (d DateParts) Has(all DateParts) bool { return d&all == all }

// String returns the names of the parts, such as "year, month, day"; "none" for the empty set.
func (d DateParts) String() string {
	var names []string
	for i, name := range datePartNames {
		if d.Has(1 << i) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// periodDates lists, by Reset, the date parts that name a period and an example of their text.
var periodDates = [...]struct {
	parts   DateParts
	example string
}{
	ResetDaily:   {DateYear | DateMonth | DateDay, "{date:yyyyMMdd}"},
	ResetMonthly: {DateYear | DateMonth, "{date:yyyyMM}"},
	ResetYearly:  {DateYear, "{date:yyyy}"},
}

// CheckFormat returns an [ErrInvalidFormat] if texts of f would repeat in another period of r. It returns nil
// if the date parts in the text name each period. A year of two digits is enough: texts then repeat after a
// century. Without a reset it accepts every format. It always accepts nil, the absence of a format: the reader
// then has to distinguish the periods.
func CheckFormat(f *Format, r Reset) error {
	if f == nil || r == ResetNone || int(r) >= len(periodDates) {
		return nil
	}
	need := periodDates[r]
	missing := need.parts &^ f.dates
	if f.dates.Has(DateShortYear) {
		missing &^= DateYear
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("%w: %q has no %v, so texts would repeat with the reset %v; add %v, for example %s, or set force_format",
		ErrInvalidFormat, f.text, missing, r, need.parts, need.example)
}
