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

// How long windows are, at first and at most, unless the history says otherwise.
const (
	firstWindow = int64(2 * time.Second)
	maxWindow   = int64(10 * time.Minute)
)

// workers fails if more workers are held at the end than may be by what processes said of their
// lanes. A worker that a lane lost, as when the answer to an extension was lost, is held until its
// window has passed; so it does not matter whether the process is still running.
func (l *liveness) workers(held Held) {
	byStart := make(map[uint32][]history.Status)
	for _, s := range l.run.Statuses {
		if s.Error == "" {
			byStart[s.Start] = append(byStart[s.Start], s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.run.Layouts)) {
		allowed := 0
		workers := make(map[uint64]bool)
		for _, p := range l.run.Processes {
			statuses := byStart[p.Start]
			if len(statuses) == 0 && l.lasts(p.From, p.To, p.From+firstWindow) {
				allowed++ // nobody knows of which layout
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
			l.v.fail("%d workers of layout %q are held at the end, expected at most %d: those of processes that are running, or whose windows can't have passed", n, name, allowed)
		}
	}
}

// windowEnd is the end of a lane's window, in the time of the history.
func windowEnd(layout *snowflake.Layout, s history.Status, lane history.Lane) int64 {
	left := layout.MillisAt(lane.Until) - s.WallNanos/int64(time.Millisecond)
	return s.Return + min(max(left, 0), math.MaxInt32)*int64(time.Millisecond)
}

// lasts reports whether a window may not have passed at the end of the run. At the moment seen it
// was to end at until, and at the moment next it was told of again, or its process had ended. In
// between it may have been extended, and windows double with each extension.
func (l *liveness) lasts(seen, next, until int64) bool {
	if next >= l.end {
		return true
	}
	longest := cmp.Or(l.run.Header.MaxWindowMillis*int64(time.Millisecond), maxWindow)
	return max(until, next)+min(2*max(next-seen, until-seen, firstWindow), longest) > l.end
}
