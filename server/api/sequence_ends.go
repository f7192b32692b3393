package api

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/fsm"
)

// End is a sequence with an end.
type End struct {
	Name string
	Left float64 // part of the period's numbers that is not granted yet, 0 to 1
}

// Open is a gapless sequence with open reservations.
type Open struct {
	Name         string
	Reservations int
	OldestMillis int64 // time of the oldest one; Unix ms
}

// Ends holds the sequences that are nearest their end, exhausted ones last, and the number of all exhausted ones. Exhausted
// sequences can be many and stay so, and would hide the sequences whose end can still be moved.
type Ends struct {
	Near      []End
	Exhausted int
	// Open holds the gapless sequences whose oldest open reservations are the oldest, and Reservations counts the open
	// reservations of all.
	Open         []Open
	Reservations int
}

// EndsOf returns the sequences of a listing that are nearest their end at a time, in Unix ms: no more than most.
func EndsOf(all fsm.Listing, at int64, most int) (e Ends) {
	periods := newPeriods(at)
	var near, exhausted []listRow
	for b := range all.After("", nil) {
		if b.Open > 0 {
			e.Reservations += b.Open
			if e.Open = append(e.Open, Open{b.Name, b.Open, b.OldestOpenMillis}); len(e.Open) >= 4*most {
				e.Open = oldestOf(e.Open, most)
			}
		}
		switch row := rowOf(b, periods); {
		case row.left == unbounded:
		case row.left > 0:
			row.key = row.left
			if near = append(near, row); len(near) >= 4*most {
				near = firstOf(near, most)
			}
		default:
			if e.Exhausted++; len(exhausted) < most {
				exhausted = append(exhausted, row)
			}
		}
	}
	e.Open = oldestOf(e.Open, most)
	near = append(firstOf(near, most), exhausted...)
	for _, row := range near[:min(len(near), most)] {
		e.Near = append(e.Near, End{row.name, row.left})
	}
	return e
}

func oldestOf(open []Open, most int) []Open {
	slices.SortFunc(open, func(a, b Open) int {
		return cmp.Or(cmp.Compare(a.OldestMillis, b.OldestMillis), strings.Compare(a.Name, b.Name))
	})
	return open[:min(len(open), most)]
}

// Least returns the smallest remaining part of all sequences with an end that are not exhausted; NaN if there is no such sequence.
func (e Ends) Least() float64 {
	if len(e.Near) > 0 && e.Near[0].Left > 0 {
		return e.Near[0].Left
	}
	return math.NaN()
}

// OldestOpen returns the time of the oldest open reservation in Unix ms; 0 if there is none.
func (e Ends) OldestOpen() int64 {
	if len(e.Open) == 0 {
		return 0
	}
	return e.Open[0].OldestMillis
}
