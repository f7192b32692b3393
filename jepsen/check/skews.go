package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// The families of faults.
const (
	familyClock   = "clock"
	familyNetwork = "network"
	familyRestore = "restore"
)

// skew is a time in which the clock of a process was off, all the time by the same.
type skew struct {
	fault    int // index in Run.Faults
	start    uint32
	offset   int64
	from, to int64 // in which it is sure
	atStart  bool  // the process started during the fault
}

// covers reports whether the clock was off for sure between two moments.
func (s skew) covers(from, to int64) bool { return s.from <= from && to <= s.to }

// steady reports whether a fault of clocks sets them off once and leaves them so.
func steady(f FaultSpan) bool { return !strobes(f) && !strings.Contains(f.Name, "drift") }

// strobes reports whether a fault flips clocks there and back.
func strobes(f FaultSpan) bool { return strings.Contains(f.Name, "strobe") }

// skews are the times with clocks that are off, by start: those between two statuses of a process that
// show that the fault was in effect, because the fault itself may have taken a while to be made and to
// be undone. Generators have no statuses: there the ends are left out.
//
// Left out altogether are those of which it is not sure how far the clock was off: where two faults
// overlap on a host, or where a status in between says something else.
func (r *Run) skews(v *Verdict) map[uint32][]skew {
	skews := make(map[uint32][]skew)
	for n, f := range r.Faults {
		if f.Family != familyClock || f.OffsetNanos == 0 || f.Failed != "" {
			continue
		}
		for _, host := range f.Hosts {
			if !steady(f) || r.overlaps(n, host) {
				v.Facts["skews_left_out"]++
				continue
			}
			for _, p := range r.Processes {
				if p.Member != host || p.From > f.To || p.To < f.From {
					continue
				}
				s := skew{fault: n, start: p.Start, offset: f.OffsetNanos, atStart: p.From >= f.From}
				if p.Generator {
					s.from, s.to = max(f.From, p.From)+clockGrace, min(f.To, p.To)-clockGrace
				} else if !r.inEffect(f, &s) {
					v.Facts["skews_left_out"]++
					continue
				}
				v.Facts["skews"]++
				skews[p.Start] = append(skews[p.Start], s)
			}
		}
	}
	return skews
}

// inEffect sets the time in which a fault was in effect in a process, from its first status that shows
// it to the last one. There is none if a status in between shows something else.
func (r *Run) inEffect(f FaultSpan, s *skew) bool {
	s.from, s.to = math.MaxInt64, math.MinInt64
	var others []history.Status
	for _, status := range r.Statuses {
		switch {
		case status.Start != s.start || status.Return < f.From || status.Call > f.To:
		case status.SkewCallNanos == s.offset && status.SkewReturnNanos == s.offset:
			s.from, s.to = min(s.from, status.Call), max(s.to, status.Return)
		default:
			others = append(others, status)
		}
	}
	return s.from < s.to && !slices.ContainsFunc(others, func(o history.Status) bool { return o.Return > s.from && o.Call < s.to })
}

// overlaps reports whether another fault set a host's clock off at the same time.
func (r *Run) overlaps(fault int, host string) bool {
	f := r.Faults[fault]
	for n, o := range r.Faults {
		if n != fault && o.Family == familyClock && slices.Contains(o.Hosts, host) && o.From <= f.To && f.From <= o.To {
			return true
		}
	}
	return false
}

// biteTolerance is how far a clock may be from where it was set to, beside the time that the answer
// took: members tell their clocks in milliseconds.
const biteTolerance = int64(5 * time.Millisecond)

// SkewBites says that the run is invalid unless clocks that were set off were off, and all
// others were not: every status has to show the harness's own clock and the skew that was set,
// and each fault of clocks has to be seen in the statuses that could show it. One that no status
// could show proves nothing: if there are only such, the run is invalid as well.
func SkewBites(r *Run) Verdict {
	v := newVerdict("skew")
	for _, s := range r.Statuses {
		if s.Error != "" {
			continue
		}
		v.Facts["statuses"]++
		if s.SkewReturnNanos != 0 {
			v.Facts["statuses_skewed"]++
		}
		off := clockOff(s)
		low, high := r.set(s)
		if off < low-(s.Return-s.Call)-biteTolerance || off > high+biteTolerance {
			v.Facts["statuses_wrong"]++
			v.invalid("the clock of %s was set off by %v, and was off by %v at %s", r.process(s.Start), time.Duration(s.SkewReturnNanos), time.Duration(off), r.clock(s.Return))
		}
	}
	for n, f := range r.Faults {
		if f.Family == familyClock && f.Failed == "" && slices.ContainsFunc(f.Hosts, r.tells) {
			v.Facts["faults"]++
			r.bites(v, n)
		}
	}
	if v.Facts["faults"] > 0 && v.Facts["faults_seen"] == 0 {
		v.invalid("clocks were set off %d times, and no status was read meanwhile that shows it", v.Facts["faults"])
	}
	v.Summary = fmt.Sprintf("%d statuses, %d of them of clocks that were set off, %d with a clock that was not where it was set to; %d of %d faults of clocks were seen",
		v.Facts["statuses"], v.Facts["statuses_skewed"], v.Facts["statuses_wrong"], v.Facts["faults_seen"], v.Facts["faults"])
	return *v
}

// clockOff is how far off the clock of a status was.
func clockOff(s history.Status) int64 { return s.ClockMillis*int64(time.Millisecond) - s.WallNanos }

// set is how far a clock was set off around a status, from least to most. A clock that strobes may have
// gone there and back in between.
func (r *Run) set(s history.Status) (low, high int64) {
	low, high = min(s.SkewCallNanos, s.SkewReturnNanos), max(s.SkewCallNanos, s.SkewReturnNanos)
	for _, f := range r.Faults {
		if f.Family == familyClock && strobes(f) && f.From <= s.Return && f.To >= s.Call && slices.Contains(f.Hosts, s.Member) {
			low, high = min(low, 0, f.OffsetNanos), max(high, 0, f.OffsetNanos)
		}
	}
	return low, high
}

const (
	// clockMoves is how long after a fault of clocks began statuses may still show nothing of it.
	clockMoves = int64(time.Second)
	// unsteadySeen is the number of statuses that have to be read of a clock that strobes, or drifts, until one of them
	// shows it for sure: half of them do.
	unsteadySeen = 12
)

// bites says that the run is invalid if a fault did not show in any of the statuses that could show it:
// those that took less than half the time that it set the clock off by, where no other fault set the same
// clock meanwhile.
func (r *Run) bites(v *Verdict, fault int) {
	f, able, seen := r.Faults[fault], 0, false
	for _, s := range r.Statuses {
		if s.Error != "" || s.Call < f.From || s.Return > f.To || !slices.Contains(f.Hosts, s.Member) {
			continue
		}
		seen = seen || shows(f, s)
		if s.Call >= f.From+clockMoves && !r.overlaps(fault, s.Member) && (f.OffsetNanos == 0 || distinct(f.OffsetNanos, s)) {
			able++
		}
	}
	if seen {
		v.Facts["faults_seen"]++
	} else if able >= unsteadySeen || able > 0 && steady(f) {
		v.invalid("%s set the clocks of %v off from %s to %s, and none of the %d statuses that could show it does", f.Name, f.Hosts, r.clock(f.From), r.clock(f.To), able)
	}
}

// distinct reports whether a status was so quick that its clock can't be taken for a right one if it is off by
// so much.
func distinct(offset int64, s history.Status) bool {
	return time.Duration(offset).Abs() > time.Duration(2*(s.Return-s.Call))
}

// shows reports whether a status shows that a fault set its clock off. One that strobes has to be read where it
// flips to; what others show stands in the status, and was compared with what was read.
func shows(f FaultSpan, s history.Status) bool {
	if strobes(f) {
		off := clockOff(s)
		return distinct(f.OffsetNanos, s) && time.Duration(off-f.OffsetNanos).Abs() < time.Duration(off).Abs()
	}
	return distinct(s.SkewCallNanos, s) && distinct(s.SkewReturnNanos, s)
}

// tells reports whether a host shows its clock at all: generators do not.
func (r *Run) tells(host string) bool {
	return slices.ContainsFunc(r.Statuses, func(s history.Status) bool { return s.Member == host })
}
