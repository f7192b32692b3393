package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	reasonBehind    = "CLOCK_BEHIND"
	reasonSkew      = "CLOCK_SKEW"
	reasonExhausted = "WORKERS_EXHAUSTED"
	reasonEnded     = "WINDOW_ENDED"

	// clockGrace is the time after the start and before the end of a fault of clocks in which a generator's IDs are not
	// checked, because the history has both moments only approximately.
	clockGrace = int64(2 * time.Second)
	// behindMargin is added to the wait threshold for clocks that are behind. It covers the error of the harness's wall
	// clock at a moment.
	behindMargin = int64(250 * time.Millisecond)
	// aheadMargin is added to the maximum clock offset for clocks that are ahead. Members know each other's clocks to
	// half a round trip of gossip, which takes at most one second.
	aheadMargin = int64(time.Second)
	// peersRemember is the time for which members and generators rely on a reported clock, plus some seconds.
	peersRemember = int64(35 * time.Second)
	// detection is the time that a process that starts with a clock that is off may take to learn another clock. A member
	// that has joined the gossip queries one clock per second.
	detection = int64(10 * time.Second)
)

// Refusal fails if a process with one of the following clocks issued IDs, or refused them for another reason:
//
//   - The clock is behind the observed clock by more than the wait threshold (policy "refuse"). The relevant observed
//     clock is the one that the process itself reported, or that any member reported before the process started:
//     a cluster that knows a later clock grants the process no window. The rule also holds without a leader, which raises
//     the observed clock, and independently of other clocks.
//   - The clock is ahead of the others by more than the maximum clock offset, and no other clock was off recently.
//     Nothing is promised while several clocks are off: if those of a majority jump ahead together, they are right.
//
// Refusal also fails if a founder was removed that was needed for a majority, see [history.NeededRemoval].
//
// The value of a strobing or drifting clock at a moment is unknown. For such clocks, Refusal checks only the statuses: a
// status that shows that its clock is off must name the clock as the problem.
func Refusal(r *Run) Verdict {
	v := newVerdict("refusal")
	if r.Header.WaitThresholdMillis <= 0 || r.Header.MaxOffsetMillis <= 0 {
		v.invalid("the history lacks the limits of clocks")
	} else if err := r.refuses(v); err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d constant offsets of a process's clock; checked %d answers and %d refusals, "+
		"of which %d were certainly due to the clock; %d statuses showed a clock that was off",
		v.Facts["skews"], v.Facts["answers"], v.Facts["refusals"], v.Facts["refusals_due"], v.Facts["statuses_wrong"])
	return *v
}

// refuses checks the statuses, removals, IDs and refusals of a run. The error means that the history cannot be read.
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
					v.fail("ID %d of layout %q was issued despite %s, %s: %v", i.First, layout, reason, why, given{r, i})
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

// refused checks the reason of a failed operation.
func (r *Run) refused(v *Verdict, watch *observedClock, s skew, op history.Op) {
	v.Facts["refusals"]++
	reason, why := r.due(watch, s, op.Call, op.Return, true)
	if reason == "" || s.atStart {
		return // uncertain, or possibly refused for lack of a window
	}
	v.Facts["refusals_due"]++
	switch op.Reason {
	case reason:
		v.Facts[reason]++
	case reasonEnded, reasonExhausted, "TIME_EXHAUSTED", reasonBehind, reasonSkew:
		if op.Reason != reasonSkew || !r.othersWereOff(s, op.Return) {
			v.fail("operation %d of client %d at %s was refused with %s, expected %s, %s; from %s to %s: %s",
				op.ID, op.Client, r.process(op.Start), op.Reason, reason, why, r.clock(op.Call), r.clock(op.Return), op.Error)
		}
	}
}

// due returns the reason for which a process with a clock that is off must refuse requests at all moments between two, and
// an explanation. The reason is empty if a refusal is not certain. known excludes what the process may not know yet, see
// atLeast.
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
		len(r.Header.Members) < 2, // no other clock
		r.othersWereOff(s, to),
		s.atStart && (from < r.started(s)+detection || r.faulty(familyNetwork, r.started(s), to)):
		return "", ""
	}
	return reasonSkew, fmt.Sprintf("with a clock that was set off by %v, ahead of all others", time.Duration(s.offset))
}

// othersWereOff reports whether the fault of s set several clocks off, or another fault of clocks began by a moment and may
// still have been in effect, or remembered by members, during the fault of s.
func (r *Run) othersWereOff(s skew, until int64) bool {
	if len(r.Faults[s.fault].Hosts) > 1 {
		return true
	}
	for n, f := range r.Faults {
		if n != s.fault && f.Family == familyClock && f.From <= until && f.To >= r.Faults[s.fault].From-peersRemember {
			return true
		}
	}
	return false
}

// started returns the time at which the process of s started.
func (r *Run) started(s skew) int64 {
	p, _ := r.Process(s.start)
	return p.From
}

// excuses are parts of the problems that a status with a clock that is off may have: the clock itself, and the reasons for
// which a member without the state of its cluster, or a member that shuts down, does not check its clock.
var excuses = []string{
	"clock", "shutting down", "not part of a cluster", "no leader", "not ready to lead yet", "has not received the state",
}

// problems adds a failure for each status that shows a clock that is off but does not name the clock. It skips slow
// statuses, whose parts may be from before and after a change.
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
		if !slices.ContainsFunc(excuses, func(text string) bool { return strings.Contains(s.Problem, text) }) {
			v.fail("the status of %s at %s has the problem %q, expected %s: its clock is %d ms behind the observed clock and "+
				"%d ms ahead of the others",
				r.process(s.Start), r.clock(s.Return), s.Problem, reason, s.ObservedMillis-s.ClockMillis, s.OffsetMillis)
		}
	}
}
