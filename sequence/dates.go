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
	// DateShortYear is a year of two digits, which come again after a century.
	DateShortYear
)

var datePartNames = [...]string{"year", "month", "day", "hour", "minute", "second", "two-digit year"}

// Has reports whether all of these parts are in the set.
func (d DateParts) Has(all DateParts) bool { return d&all == all }

// String returns the parts by name, such as "year, month, day"; "none" for the empty set.
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

// periodDates are the date parts that name a period, with how to write them.
var periodDates = [...]struct {
	parts   DateParts
	example string
}{
	ResetDaily:   {DateYear | DateMonth | DateDay, "{date:yyyyMMdd}"},
	ResetMonthly: {DateYear | DateMonth, "{date:yyyyMM}"},
	ResetYearly:  {DateYear, "{date:yyyy}"},
}

// CheckFormat reports, as an [ErrInvalidFormat], why texts of f would come again in
// another period of r, or nil if they do not: each period is named in full by the date
// parts in the text. Without a reset every format will do, and so does no format, nil,
// which leaves it to the reader to keep periods apart.
func CheckFormat(f *Format, r Reset) error {
	if f == nil || r == ResetNone || int(r) >= len(periodDates) {
		return nil
	}
	need := periodDates[r]
	missing := need.parts &^ f.dates
	if missing == 0 {
		return nil
	}
	hint := ""
	if missing.Has(DateYear) && f.dates.Has(DateShortYear) {
		hint = "; yy comes again after a century, write yyyy"
	}
	return fmt.Errorf("%w: %q has no %v, so texts would repeat with the reset %v, expected %v in it, for example %s%s; it can be forced",
		ErrInvalidFormat, f.text, missing, r, need.parts, need.example, hint)
}
