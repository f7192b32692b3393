package sequence

import (
	"fmt"
	"strconv"
)

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

// String returns the reset's name, as [ParseReset] reads it: none, daily, monthly or
// yearly.
func (r Reset) String() string {
	if int(r) >= len(resetNames) {
		return "Reset(" + strconv.Itoa(int(r)) + ")"
	}
	return resetNames[r]
}

// ParseReset returns the reset of that name: none, daily, monthly or yearly. Any other
// text is an [ErrUnknownReset].
func ParseReset(s string) (Reset, error) {
	for r, name := range resetNames {
		if s == name {
			return Reset(r), nil
		}
	}
	return None, fmt.Errorf("%w: %.64q, expected none, daily, monthly or yearly", ErrUnknownReset, s)
}
