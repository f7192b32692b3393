package schedule

import (
	"fmt"
	"slices"
)

// Shrink drops events from a plan as long as the rest still fails, and returns the smallest failing plan that it finds.
// It drops many events at once first, and then fewer and fewer. The remaining events keep their times. The method is
// delta debugging without its complements (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
// 2002).
//
// fails runs a plan and reports whether the run failed. If a plan fails only sometimes, the result may be longer than
// necessary, but it has failed once. If fails returns an error, Shrink returns this error and the smallest plan so far.
func Shrink(p Plan, fails func(Plan) (bool, error)) (Plan, error) {
	held := make(map[string]bool) // plans that did not fail; not tried again
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
