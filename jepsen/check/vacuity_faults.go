package check

import (
	"maps"
	"math"
	"slices"

	"github.com/snowraft/snowraft/jepsen/schedule"
)

// surelyOne is the number of faults of which one surely has an effect, although others overlap.
const surelyOne = 3

// surely reports whether at least one of n faults surely has an effect. Fewer may all affect members that other faults
// have stopped, unless the run has no other faults.
func (r *Run) surely(n int) bool { return n >= surelyOne || n == len(r.Faults) }

// planned makes the run invalid if a fault failed or did not end, if a fault of the schedule did not begin, or if all
// faults of a kind were idle of which one surely has an effect.
func (r *Run) planned(v *Verdict, events []schedule.Event) {
	begun := make(map[int]bool)
	made, idle := make(map[string]int), make(map[string]int)
	for _, f := range r.Faults {
		begun[f.Event] = true
		made[f.Name]++
		if f.Idle {
			idle[f.Name]++
			v.Facts["faults_idle"]++
		}
		v.Facts["faults"]++
		v.Facts["faults_"+f.Family]++
		switch {
		case f.Failed != "":
			v.invalid("fault %d (%s) could not be made: %s", f.Event, f.Name, f.Failed)
		case f.To == math.MaxInt64:
			v.invalid("fault %d (%s), which began at %s, did not end", f.Event, f.Name, r.clock(f.From))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		if idle[name] == made[name] && r.surely(made[name]) {
			v.invalid("none of %d faults of kind %s affected anything", made[name], name)
		}
	}
	for event, e := range events {
		v.Facts["events"]++
		if !begun[event] {
			v.invalid("planned fault %d (%s) did not begin", event, e.Fault)
		}
	}
}
