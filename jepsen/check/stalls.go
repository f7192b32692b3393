package check

import (
	"time"

	"github.com/snowraft/snowraft/internal/test/schedstat"
	"github.com/snowraft/snowraft/jepsen/history"
)

// stalled returns for how long the machine kept the members from a processor between two moments: the longest time of a
// process. Limits of real time do not count it. A reading counts for the time since the reading before it, and the first one of a
// process for the time since its start.
func (r *Run) stalled(from, to int64) int64 {
	last := make(map[uint32]history.Status)
	total := make(map[uint32]int64)
	longest := int64(0)
	for _, s := range r.Statuses {
		if s.RanNanos == 0 {
			continue
		}
		before, ok := last[s.Start]
		last[s.Start] = s
		if !ok {
			var p ProcessSpan
			p, ok = r.Process(s.Start)
			before.Return = p.From
		}
		if !ok || s.Return <= from || before.Return >= to {
			continue
		}
		total[s.Start] += int64(schedstat.Stalled(times(before), times(s), time.Duration(s.Return-before.Return)))
		longest = max(longest, total[s.Start])
	}
	return longest
}

// extended returns a limit from a moment on, plus the time within it for which the machine kept a member from a processor.
func (r *Run) extended(from, limit int64) int64 {
	for within := limit; ; {
		longer := limit + r.stalled(from, from+within)
		if longer <= within {
			return within
		}
		within = longer
	}
}

func times(s history.Status) schedstat.Times {
	return schedstat.Times{Ran: time.Duration(s.RanNanos), Waited: time.Duration(s.WaitedNanos)}
}
