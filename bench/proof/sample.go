package main

import "time"

// tick is the time that one column of a timeline stands for.
const tick = 500 * time.Millisecond

// A column is what callers got in a tick.
type column struct {
	good  int  // applications that got numbers
	twice bool // a number came that came before
}

// sample returns the columns of a raw file.
func sample(path string, length time.Duration) ([]column, error) {
	columns, seen := make([]column, length/tick+1), make(map[string]struct{})
	last := make(map[string]int) // last column in which an application got a number
	err := read(path, func(e event) error {
		if e.sign != '=' {
			return nil
		}
		i := min(int(e.at/tick), len(columns)-1)
		if at, known := last[e.who]; !known || at < i {
			last[e.who] = i
			columns[i].good++
		}
		if _, twice := seen[e.text]; twice {
			columns[i].twice = true
		}
		seen[e.text] = struct{}{}
		return nil
	})
	return columns, err
}
