package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// step is a step of a host's clock.
type step struct {
	at          int64 // moment before it
	from, until int64 // machine's clock before and after it, Unix ns
	offset      int64 // host's clock after it, less the machine's; in nanoseconds
}

// addSteps adds the gaps of the start that ran at a step, after earlier steps. Only a step that the wrapper must answer with a
// kill has a gap, from the new time on until the kill. After a step back, the command can repeat its own IDs too.
func (r *Run) addSteps(g *raftlog.Grants, host string, s step, earlier []step) {
	const millis = int64(time.Millisecond)
	start := r.runningAt(host, s.at)
	p, ok := r.Process(start)
	if !ok {
		return
	}
	before, highest := int64(0), int64(0)
	for _, e := range earlier {
		if e.at < p.From {
			highest = e.offset
		}
		before, highest = e.offset, max(highest, e.offset)
	}
	for lane, windows := range g.Windows {
		l := r.Layouts[lane.Layout]
		if l == nil || !l.Spec().LeaseOnly {
			continue
		}
		for _, w := range windows {
			from, end := l.MillisAt(w.From)*millis, l.MillisAt(w.Until)*millis
			if w.Holder != host || w.Released || from > s.until+before || end < s.from+before {
				continue
			}
			first, last := l.TickAt((s.from+s.offset)/millis), l.TickAt((s.until+s.offset+int64(gapLasts))/millis)
			if s.until+s.offset+r.Header.MaxOffsetMillis*millis >= end || highest-s.offset > int64(clockBack) {
				r.gaps[start] = append(r.gaps[start], gap{factAfterStep, lane, w, first, last})
			}
		}
	}
}
