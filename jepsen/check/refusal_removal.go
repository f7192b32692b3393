package check

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// heardWithin is the time after its call in which a removal may be decided. A founder that ran at any moment of that time
// counts as alive.
const heardWithin = int64(500 * time.Millisecond)

// removal adds a failure if a founder was removed without force although no majority of the other founders, which were
// the only other voters, was alive.
func (r *Run) removal(v *Verdict, op *history.Op) {
	name, ok := strings.CutPrefix(op.Key, history.NeededRemoval)
	if op.Do != history.DoAdmin || !ok {
		return
	}
	v.Facts["removals"]++
	voters, live := 0, 0
	for _, founder := range r.Header.Members {
		if founder == name {
			continue
		}
		voters++
		if r.runs(founder, op.Call, min(op.Call, math.MaxInt64-heardWithin)+heardWithin) {
			live++
		}
	}
	if op.Outcome == history.OK && live <= voters/2 {
		v.fail("operation %d of client %d removed %s at %s, when only %d of %d other voters were alive; expected a refusal",
			op.ID, op.Client, name, r.clock(op.Call), live, voters)
	}
}

// runs reports whether a member's process ran at any moment between two.
func (r *Run) runs(member string, from, to int64) bool {
	return slices.ContainsFunc(r.Processes, func(p ProcessSpan) bool { return p.Member == member && p.From <= to && p.To >= from })
}
