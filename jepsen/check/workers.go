package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/snowflake"
)

// The lengths of windows in nanoseconds.
const (
	firstWindow = int64(2 * time.Second)
	maxWindow   = int64(10 * time.Minute) // maximum, unless the history has another
)

// workers adds a failure if more workers are held at the end of the run than the reported lanes allow. A worker that
// a lane lost, for example because the answer to an extension was lost, is held until its window ends, even if the process
// still runs.
func (l *liveness) workers(held Held) {
	byStart := make(map[uint32][]history.Status)
	for _, s := range l.run.Statuses {
		if s.Error == "" {
			byStart[s.Start] = append(byStart[s.Start], s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.run.Layouts)) {
		allowed, first := 0, firstWindow
		if l.run.Layouts[name].Spec().LeaseOnly {
			first = l.longest() // wrappers do not start slowly
		}
		workers := make(map[uint64]bool)
		for _, p := range l.run.Processes {
			statuses := byStart[p.Start]
			if len(statuses) == 0 && l.lasts(p.From, p.To, p.From+first) {
				allowed++ // lane of an unknown layout
			}
			for n, s := range statuses {
				next := p.To
				if n+1 < len(statuses) {
					next = statuses[n+1].Return
				}
				for _, lane := range s.Lanes {
					if lane.Layout == name && lane.Token > 0 && l.lasts(s.Return, next, windowEnd(l.run.Layouts[name], s, lane)) {
						workers[lane.Worker] = true
					}
				}
			}
		}
		allowed += len(workers)
		l.v.Facts["workers_allowed"] += int64(allowed)
		if held == nil {
			continue
		}
		n := held(name)
		l.v.Facts["workers_held"] += int64(n)
		if n > allowed {
			l.v.fail("%d workers of layout %q are held at the end, expected at most %d: those of running processes, and those with "+
				"windows that may not have ended", n, name, allowed)
		}
	}
}

// windowEnd returns the moment at which the window of a lane in a status ends.
func windowEnd(layout *snowflake.Layout, s history.Status, lane history.Lane) int64 {
	left := layout.MillisAt(lane.Until) - s.WallNanos/int64(time.Millisecond)
	return s.Return + min(max(left, 0), math.MaxInt32)*int64(time.Millisecond)
}

// lasts reports whether a window may not have ended at the end of the load. until is the end of the window in the status
// at the moment seen. next is the moment of the next status or of the process's exit. In between, the window may have been
// extended. An extended window is at most four times as long as before.
func (l *liveness) lasts(seen, next, until int64) bool {
	if next >= l.end {
		return true
	}
	return max(until, next)+min(4*max(next-seen, until-seen, firstWindow), l.longest()) > l.end
}

// longest returns the length of the longest window.
func (l *liveness) longest() int64 {
	return cmp.Or(l.run.Header.MaxWindowMillis*int64(time.Millisecond), maxWindow)
}
