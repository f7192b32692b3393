package schedule

import (
	"fmt"
	"slices"
)

// Shrink drops events from a plan for as long as what is left still fails, and returns
// the smallest plan found. It drops many at once first and fewer and fewer after that
// (delta debugging: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
// Input", 2002, without its complements). The other events keep their times.
//
// A plan that fails sometimes only may be kept longer than it need be, never too short:
// fails decides, and its error ends it all, with the smallest plan so far.
func Shrink(p Plan, fails func(Plan) (bool, error)) (Plan, error) {
	held := make(map[string]bool) // what did not fail, which is not tried again
	for size := (len(p.Events) + 1) / 2; size > 0; {
		dropped := false
		for from := 0; from < len(p.Events); {
			smaller := p
			smaller.Events = slices.Delete(slices.Clone(p.Events), from, min(from+size, len(p.Events)))
			key := fmt.Sprint(smaller.Events)
			if held[key] {
				from += size
				continue
			}
			failed, err := fails(smaller)
			if err != nil {
				return p, err
			}
			if failed {
				p, dropped = smaller, true
			} else {
				held[key] = true
				from += size
			}
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
			if size > len(p.Events) {
				size = (len(p.Events) + 1) / 2
			}
		case !dropped:
			return p, nil
		}
	}
	return p, nil
}
