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

// skew is a time in which the clock of a process was off by a constant offset.
type skew struct {
	fault    int // index in Run.Faults
	start    uint32
	offset   int64 // nanoseconds
	from, to int64 // moments between which the offset is certain
	atStart  bool  // the process started during the fault
}

// covers reports whether the clock was certainly off at all moments between two.
func (s skew) covers(from, to int64) bool { return s.from <= from && to <= s.to }

// steady reports whether a fault sets clocks off by a constant offset.
func steady(f FaultSpan) bool { return !strobes(f) && !strings.Contains(f.Name, "drift") }

// strobes reports whether a fault flips clocks back and forth.
func strobes(f FaultSpan) bool { return strings.Contains(f.Name, "strobe") }

// skews returns the times with clocks that were off, by start. For a member, the time is between the statuses that show
// the fault in effect, because making and undoing a fault takes a while. For a generator, which has no statuses, the time
// excludes clockGrace at both ends of the fault.
//
// skews omits times with an uncertain offset: those of two overlapping faults on a host, and those with a status that
// shows another offset in between.
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

// inEffect sets s to the time between the first and the last status that show the fault in effect. It returns false if no
// status shows it, or if a status in between shows another offset.
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

// biteTolerance is the allowed difference of a clock from its set value, in addition to the time of the answer. Members
// report their clocks in milliseconds.
const biteTolerance = int64(5 * time.Millisecond)

// SkewBites checks that exactly those clocks were off that were set off. Otherwise, the run is invalid. Every status must
// show the harness's clock plus the set offset, and each fault of clocks must be visible if statuses could show it. A run
// whose faults of clocks are all invisible, although one surely has an effect, is invalid as well.
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
			v.invalid("the clock of %s was set off by %v, but was off by %v at %s",
				r.process(s.Start), time.Duration(s.SkewReturnNanos), time.Duration(off), r.clock(s.Return))
		}
	}
	for n, f := range r.Faults {
		if f.Family == familyClock && f.Failed == "" && slices.ContainsFunc(f.Hosts, r.reportsClock) {
			v.Facts["faults"]++
			r.bites(v, n)
		}
	}
	if faults := int(v.Facts["faults"]); faults > 0 && r.surely(faults) && v.Facts["faults_seen"] == 0 {
		v.invalid("clocks were set off %d times, but no status shows it", v.Facts["faults"])
	}
	v.Summary = fmt.Sprintf("%d statuses, %d of them with a clock that was set off, %d with an unexpected clock; "+
		"%d of %d faults of clocks visible",
		v.Facts["statuses"], v.Facts["statuses_skewed"], v.Facts["statuses_wrong"], v.Facts["faults_seen"], v.Facts["faults"])
	return *v
}

// clockOff returns the nanoseconds by which the clock in a status was ahead of the harness's clock.
func clockOff(s history.Status) int64 { return s.ClockMillis*int64(time.Millisecond) - s.WallNanos }

// set returns the least and the greatest set offset of the clock around a status, in nanoseconds. A strobing clock may
// have flipped in between.
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
	// clockMoves is the time after the start of a fault of clocks in which statuses may not yet show the fault.
	clockMoves = int64(time.Second)
	// slowestDrift is the least drift of a clock in nanoseconds per second.
	slowestDrift = int64(5 * time.Millisecond)
	// unsteadySeen is the number of statuses of a strobing or drifting clock that almost certainly include one that shows
	// the fault: half of them do.
	unsteadySeen = 12
)

// bites makes the run invalid if none of the statuses that could show a fault shows it. A status could show the fault if
// it took less than half the least offset and no other fault set the same clock.
func (r *Run) bites(v *Verdict, fault int) {
	f, able, seen := r.Faults[fault], 0, false
	for _, s := range r.Statuses {
		if s.Error != "" || s.Call < f.From || s.Return > f.To || !slices.Contains(f.Hosts, s.Member) {
			continue
		}
		seen = seen || shows(f, s)
		if s.Call >= f.From+clockMoves && !r.overlaps(fault, s.Member) && s.Distinguishes(f.leastOffset(s.Call)) {
			able++
		}
	}
	if seen {
		v.Facts["faults_seen"]++
	} else if able >= unsteadySeen || able > 0 && steady(f) {
		v.invalid("%s set the clocks of %v off from %s to %s, but none of the %d statuses that could show it did",
			f.Name, f.Hosts, r.clock(f.From), r.clock(f.To), able)
	}
}

// leastOffset returns the least offset of a clock at a moment of the fault, in nanoseconds. A drifting clock has no other
// offset than its drift.
func (f FaultSpan) leastOffset(at int64) int64 {
	if f.OffsetNanos != 0 {
		return f.OffsetNanos
	}
	return (at - f.From) / int64(time.Second) * slowestDrift
}

// shows reports whether a status shows that a fault set its clock off. For a strobing clock, the reported time must be
// nearer to the set offset than to none. For other clocks, the offset recorded with the status counts, which SkewBites
// compares with the reported time.
func shows(f FaultSpan, s history.Status) bool {
	if strobes(f) {
		off := clockOff(s)
		return s.Distinguishes(f.OffsetNanos) && time.Duration(off-f.OffsetNanos).Abs() < time.Duration(off).Abs()
	}
	return s.Distinguishes(s.SkewCallNanos) && s.Distinguishes(s.SkewReturnNanos)
}

// reportsClock reports whether a host reports its clock. Generators do not.
func (r *Run) reportsClock(host string) bool {
	return slices.ContainsFunc(r.Statuses, func(s history.Status) bool { return s.Member == host })
}
