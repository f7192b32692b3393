package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	reasonBehind    = "CLOCK_BEHIND"
	reasonSkew      = "CLOCK_SKEW"
	reasonExhausted = "WORKERS_EXHAUSTED"
	reasonEnded     = "WINDOW_ENDED"

	// clockGrace is how long after a fault of clocks began, and before it ended, nothing is said of what a
	// generator issues: the lines in the history are not of the very moments.
	clockGrace = int64(2 * time.Second)
	// behindMargin is by how much more than the wait threshold a clock has to be behind, for what
	// the wall clock of the harness says to be good enough.
	behindMargin = int64(250 * time.Millisecond)
	// aheadMargin is the same margin, ahead of the others: members know each other's clocks to half a round
	// trip, and one of gossip takes a second at most.
	aheadMargin = int64(time.Second)
	// peersRemember is the time that members and generators go by what they were told of a clock, and
	// some seconds.
	peersRemember = int64(35 * time.Second)
	// detection is the time that a process that starts with a clock that is off may take until it has learned of
	// another one: a member asks one a second, once it has joined the gossip.
	detection = int64(10 * time.Second)
)

// Refusal fails if a process with a clock that is off issued IDs, or refused them for another reason:
//
//   - one whose clock is behind the observed clock by more than the wait threshold, as the policy
//     "refuse" has it. What it knows of the observed clock is what it had said itself, or what
//     any member had said before it started, because it gets no window from a cluster that saw more. So
//     this holds also while there is no leader to raise it, and whoever else is off;
//   - one whose clock is ahead of the others' by more than the maximal offset, where it is the only
//     one that was off of late: nothing is promised where others are wrong alike.
//
// It also fails if a founder was removed that was needed for a majority, see [history.NeededRemoval].
//
// Where clocks strobe or drift nobody knows what they showed at a moment: of those only the statuses
// are judged, which must name the clock as the problem whenever they show that it is.
func Refusal(r *Run) Verdict {
	v := newVerdict("refusal")
	if r.Header.WaitThresholdMillis <= 0 || r.Header.MaxOffsetMillis <= 0 {
		v.invalid("the history does not say how far clocks may be off")
	} else if err := r.refuses(v); err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d times a process had a clock that was steadily off; %d answers were judged and %d refusals, of which %d were due to the clock; %d statuses showed a clock that is off",
		v.Facts["skews"], v.Facts["answers"], v.Facts["refusals"], v.Facts["refusals_due"], v.Facts["statuses_wrong"])
	return *v
}

func (r *Run) refuses(v *Verdict) error {
	r.problems(v)
	for op, err := range r.Ops() {
		if err != nil {
			return err
		}
		r.removal(v, &op)
	}
	skews := r.skews(v)
	if len(skews) == 0 {
		return nil
	}
	watch := newObservedClock(r)
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	for layout, paths := range files {
		for i, err := range readAll(paths) {
			if err != nil {
				return err
			}
			for _, s := range skews[i.Start] {
				if !s.covers(i.Call, i.Return) {
					continue
				}
				v.Facts["answers"]++
				if reason, why := r.due(watch, s, i.Call, i.Return, false); reason != "" {
					v.fail("ID %d of layout %q was issued in spite of %s, %s: %v", i.First, layout, reason, why, given{r, i})
				}
			}
		}
	}
	for op, err := range r.Ops() {
		if err != nil {
			return err
		}
		if op.Do != history.DoIDs || op.Outcome != history.Fail {
			continue
		}
		for _, s := range skews[op.Start] {
			if s.covers(op.Call, op.Return) {
				r.refused(v, watch, s, op)
			}
		}
	}
	return nil
}

// refused judges the reason of an operation that failed.
func (r *Run) refused(v *Verdict, watch *observedClock, s skew, op history.Op) {
	v.Facts["refusals"]++
	reason, why := r.due(watch, s, op.Call, op.Return, true)
	if reason == "" || s.atStart {
		return // not sure, or it may have had no window anyway
	}
	v.Facts["refusals_due"]++
	switch op.Reason {
	case reason:
		v.Facts[reason]++
	case reasonEnded, reasonExhausted, "TIME_EXHAUSTED", reasonBehind, reasonSkew:
		if op.Reason != reasonSkew || !r.othersWereOff(s, op.Return) {
			v.fail("operation %d of client %d at %s was refused with %s, want %s, %s: from %s to %s: %s",
				op.ID, op.Client, r.process(op.Start), op.Reason, reason, why, r.clock(op.Call), r.clock(op.Return), op.Error)
		}
	}
}

// due says for which reason nothing may be issued at any moment between two, with a clock that is
// off; empty if it is not sure that there is one. known leaves out what the process may not
// know yet.
func (r *Run) due(watch *observedClock, s skew, from, to int64, known bool) (reason, why string) {
	if s.offset < 0 {
		observed, ok := watch.atLeast(s, from, to, known)
		if behind := observed - (watch.wall(to) + s.offset); ok && behind > r.Header.WaitThresholdMillis*int64(time.Millisecond)+behindMargin {
			return reasonBehind, fmt.Sprintf("with a clock that was set off by %v and was %v behind the observed clock", time.Duration(s.offset), time.Duration(behind))
		}
		return "", ""
	}
	switch {
	case s.offset <= r.Header.MaxOffsetMillis*int64(time.Millisecond)+aheadMargin,
		len(r.Header.Members) < 2, // nobody knows better
		r.othersWereOff(s, to),
		s.atStart && (from < r.started(s)+detection || r.faulty(familyNetwork, r.started(s), to)):
		return "", ""
	}
	return reasonSkew, fmt.Sprintf("with a clock that was set off by %v, ahead of all others'", time.Duration(s.offset))
}

// othersWereOff reports whether there was another fault of clocks until a moment, of which members
// may still have remembered something during this one.
func (r *Run) othersWereOff(s skew, until int64) bool {
	for n, f := range r.Faults {
		if n != s.fault && f.Family == familyClock && f.From <= until && f.To >= r.Faults[s.fault].From-peersRemember {
			return true
		}
	}
	return false
}

// started is when the process started whose clock is off.
func (r *Run) started(s skew) int64 {
	p, _ := r.Process(s.start)
	return p.From
}

// problems fails for statuses that show a clock that is off and do not name it. One that took long may have
// been put together before and after something happened.
func (r *Run) problems(v *Verdict) {
	for _, s := range r.Statuses {
		const margin = 250
		if s.Error != "" || s.SkewCallNanos != s.SkewReturnNanos || s.Return-s.Call > margin*int64(time.Millisecond) {
			continue
		}
		var reason string
		switch {
		case s.OffsetMillis > r.Header.MaxOffsetMillis+margin:
			reason = reasonSkew
		case s.ObservedMillis-s.ClockMillis > r.Header.WaitThresholdMillis+margin:
			reason = reasonBehind
		default:
			continue
		}
		v.Facts["statuses_wrong"]++
		if !strings.Contains(s.Problem, "clock") && !strings.Contains(s.Problem, "shutting down") && !strings.Contains(s.Problem, "not part of a cluster") && !strings.Contains(s.Problem, "no leader") {
			v.fail("the status of %s at %s says that the problem is %q, where %s is: its clock is %d ms behind the observed clock and %d ms ahead of the others'",
				r.process(s.Start), r.clock(s.Return), s.Problem, reason, s.ObservedMillis-s.ClockMillis, s.OffsetMillis)
		}
	}
}
