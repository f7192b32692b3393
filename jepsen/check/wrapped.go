package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// gapLasts is the longest time between the thaw of a wrapped generator and the kill of its command.
const gapLasts = 5 * time.Second

// gap is the documented exception of "worker run". A command that was frozen beyond the end of its window, together with
// its wrapper and its guard, can make IDs from that end until it is killed.
type gap struct {
	lane        raftlog.Lane
	from, until int64 // ticks
}

// findGaps finds the gaps of all wrapped generators: freezes in which a window of the host ended.
func (r *Run) findGaps(g *raftlog.Grants) {
	r.gaps = make(map[uint32][]gap)
	clock := newObservedClock(r)
	frozen := make(map[string]int64)
	for _, n := range r.Notes {
		switch n.What {
		case history.NoteFrozen:
			frozen[n.Member] = n.At
		case history.NoteThawed:
			r.addGaps(g, n.Member, clock.wall(frozen[n.Member]), clock.wall(n.At), r.runningAt(n.Member, n.At))
		}
	}
}

// runningAt returns the start that ran on a host at a moment, 0 for none.
func (r *Run) runningAt(host string, at int64) (start uint32) {
	for _, p := range r.Processes {
		if p.Member == host && p.From <= at && at <= p.To {
			start = p.Start
		}
	}
	return start
}

// addGaps adds the gaps of a start after a freeze, of which the times are in Unix ns. The command had to be killed earlier
// than at the end of its window, by the greatest offset of clocks.
func (r *Run) addGaps(g *raftlog.Grants, host string, frozen, thawed int64, start uint32) {
	const millis = int64(time.Millisecond)
	for lane, windows := range g.Windows {
		l := r.Layouts[lane.Layout]
		if l == nil || !l.Spec().LeaseOnly {
			continue
		}
		for _, w := range windows {
			end := l.MillisAt(w.Until)
			if w.Holder != host || w.Released || end*millis < frozen || (end-r.Header.MaxOffsetMillis)*millis > thawed {
				continue
			}
			r.gaps[start] = append(r.gaps[start], gap{lane, w.Until, l.TickAt((thawed + int64(gapLasts)) / millis)})
		}
	}
}

// excused reports whether an ID of a start was made in the documented exception.
func (r *Run) excused(l *snowflake.Layout, start uint32, id uint64) bool {
	if len(r.gaps[start]) == 0 {
		return false
	}
	parts, err := l.Unpack(id)
	if err != nil {
		return false
	}
	for _, g := range r.gaps[start] {
		if g.lane == (raftlog.Lane{Layout: l.Name(), Worker: parts.Worker}) && g.from <= parts.Tick && parts.Tick <= g.until {
			return true
		}
	}
	return false
}
