package sequence

import "strconv"

// Reset is the length of a sequence's periods; the numbers start over in each period. The zero Reset is ResetNone.
type Reset uint8

const (
	// ResetNone never starts over.
	ResetNone Reset = iota
	// ResetDaily starts over at the beginning of each day.
	ResetDaily
	// ResetMonthly starts over at the beginning of each month.
	ResetMonthly
	// ResetYearly starts over at the beginning of each year.
	ResetYearly
	// ResetWeekly starts over at the beginning of each Monday.
	ResetWeekly
	// ResetQuarterly starts over at the beginning of each quarter of a year.
	ResetQuarterly
)

var resetNames = [...]string{
	ResetNone: "none", ResetDaily: "daily", ResetMonthly: "monthly", ResetYearly: "yearly", ResetWeekly: "weekly", ResetQuarterly: "quarterly",
}

// String returns the reset's name: none, daily, weekly, monthly, quarterly or yearly.
func (r Reset) String() string {
	if int(r) >= len(resetNames) {
		return "Reset(" + strconv.Itoa(int(r)) + ")"
	}
	return resetNames[r]
}
