package sequence

import "strconv"

// Reset is how often a sequence starts over. The zero Reset is None.
type Reset uint8

const (
	// None never starts over.
	None Reset = iota
	// Daily starts over at the beginning of each day.
	Daily
	// Monthly starts over at the beginning of each month.
	Monthly
	// Yearly starts over at the beginning of each year.
	Yearly
)

var resetNames = [...]string{None: "none", Daily: "daily", Monthly: "monthly", Yearly: "yearly"}

// String returns the reset's name: none, daily, monthly or yearly.
func (r Reset) String() string {
	if int(r) >= len(resetNames) {
		return "Reset(" + strconv.Itoa(int(r)) + ")"
	}
	return resetNames[r]
}
