package check

import (
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

const (
	// gapLasts is the longest time between the thaw of a wrapped generator, or a step of its clock, and the kill of its command.
	gapLasts = 5 * time.Second
	// clockBack is the step back that a wrapper tolerates.
	clockBack = 5 * time.Millisecond
)

// The facts that count IDs in the documented exception of "worker run".
const (
	factAfterFreeze = "ids_after_a_freeze"
	factAfterStep   = "ids_after_a_step"
)

// gap is the documented exception of "worker run". A command that was frozen beyond the end of its window, together with
// its wrapper and its guard, can make IDs from that end until it is killed. So can a command whose clock steps out of the
// window or too far back, from the new time on.
type gap struct {
	fact        string
	lane        raftlog.Lane
	window      raftlog.Window
	from, until int64 // ticks
}

// findGaps finds the gaps of all wrapped generators: freezes in which a window of the host ended, and steps of the clock.
func (r *Run) findGaps(g *raftlog.Grants) {
	r.gaps = make(map[uint32][]gap)
	clock := newObservedClock(r)
	began := make(map[string]history.Note)
	steps := make(map[string][]step)
	for _, n := range r.Notes {
		first := began[n.Member]
		switch n.What {
		case history.NoteFrozen, history.NoteStepping:
			began[n.Member] = n
		case history.NoteThawed:
			r.addGaps(g, n.Member, clock.wall(first.At), clock.wall(n.At), r.runningAt(n.Member, n.At))
		case history.NoteStepped:
			offset, err := time.ParseDuration(first.Detail)
			if err != nil {
				continue // nothing is excused
			}
			s := step{at: first.At, from: clock.wall(first.At), until: clock.wall(n.At), offset: offset.Nanoseconds()}
			r.addSteps(g, n.Member, s, steps[n.Member])
			steps[n.Member] = append(steps[n.Member], s)
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
			r.gaps[start] = append(r.gaps[start], gap{factAfterFreeze, lane, w, w.Until, l.TickAt((thawed + int64(gapLasts)) / millis)})
		}
	}
}

// excused returns the gap in which a start made an ID; nil for none.
func (r *Run) excused(l *snowflake.Layout, start uint32, id uint64) *gap {
	if len(r.gaps[start]) == 0 {
		return nil
	}
	parts, err := l.Unpack(id)
	if err != nil {
		return nil
	}
	for i, g := range r.gaps[start] {
		if g.lane == (raftlog.Lane{Layout: l.Name(), Worker: parts.Worker}) && g.from <= parts.Tick && parts.Tick <= g.until {
			return &r.gaps[start][i]
		}
	}
	return nil
}

// outside reports whether a tick is not in the window, so that only the gap excuses it.
func (g *gap) outside(tick int64) bool { return tick < g.window.From || g.window.Until <= tick }
