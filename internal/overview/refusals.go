package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// refusals returns findings about members that answer and issue no IDs.
func (f *facts) refusals() (all []finding) {
	level := warning
	if len(f.issuing) == 0 {
		level = bad
	}
	byReason := make(map[string][]*snowraftv1.MemberView)
	for _, m := range f.refuse {
		byReason[m.GetReason()] = append(byReason[m.GetReason()], m)
	}
	if behind := byReason[rpc.ClockBehind]; len(behind) > 1 && len(behind)*2 > len(f.issuing)+len(f.refuse) {
		// It is less likely that so many clocks are behind than that one clock was ahead.
		all = append(all, f.observedAhead(level, behind))
		delete(byReason, rpc.ClockBehind)
	}
	for _, reason := range []string{rpc.ClockBehind, rpc.ClockSkew} {
		for _, m := range byReason[reason] {
			all = append(all, f.wrongClock(level, m))
		}
		delete(byReason, reason)
	}
	if f.restored() {
		delete(byReason, rpc.Fenced)
	}
	if sealed := byReason[rpc.SetBack]; len(sealed) > 0 { // the witness does not apply the seal
		byReason[rpc.SetBack] = append(sealed, byReason[rpc.Contradicted]...)
		delete(byReason, rpc.Contradicted)
	}
	for _, reason := range keys(byReason) {
		all = append(all, f.refusal(level, reason, byReason[reason]))
	}
	return all
}

// refusal returns the finding about members that issue no IDs for the same reason.
func (f *facts) refusal(level snowraftv1.VerdictLevel, reason string, members []*snowraftv1.MemberView) finding {
	who, n := list(names(members)), len(members)
	text := who + verb(n, " issues no IDs", " issue no IDs")
	var found finding
	switch reason {
	case rpc.WindowEnded, rpc.NoLeader:
		found = of(level, text+": the window has ended", "", runbookCutOff)
		if f.windowless(members) {
			found.Text = text + ": no window was granted yet"
		}
		if f.leads != nil && !f.outage {
			found.Action = "wait some seconds for a window"
		}
		found.mentioned = f.outage
	case rpc.WorkersExhausted:
		found = of(level, text+`: all workers of the layout "default" are held`, "stop holders that are not needed", runbookWorkers).by("snowraft worker list")
	case rpc.SetBack, rpc.Contradicted:
		if text += ": " + members[0].GetProblem(); f.branched() {
			text += " (" + histories(members) + ")"
		}
		found = of(bad, text, "stop the members, and restore the cluster from all their data directories", runbookSetBack).
			by("snowraft restore --help")
	default:
		found = of(level, text+": "+members[0].GetProblem(), "", runbookSymptoms)
	}
	if n == 1 {
		found.Member = who
	}
	return found
}

// branched reports whether members know different histories, and no majority can judge which of them was set back.
func (f *facts) branched() bool {
	contradicted := 0
	for _, m := range f.refuse {
		if m.GetReason() == rpc.Contradicted {
			contradicted++
		}
	}
	return contradicted > 1 && f.leads == nil
}

// histories names the branch of each member: "a has index 43, b has index 61".
func histories(members []*snowraftv1.MemberView) string {
	var all []string
	for _, m := range members {
		all = append(all, fmt.Sprintf("%s has index %d", m.GetMember().GetName(), m.GetAppliedIndex()))
	}
	return strings.Join(all, ", ")
}

// windowless reports whether none of these members has held a window of the default layout since its start.
func (f *facts) windowless(members []*snowraftv1.MemberView) bool {
	return !slices.ContainsFunc(members, func(m *snowraftv1.MemberView) bool { return m.GetServesUntilAtMs() > 0 }) &&
		!slices.ContainsFunc(members, func(m *snowraftv1.MemberView) bool { return strings.Contains(m.GetProblem(), "window ended") })
}

// wrongClock returns the finding about a member that issues no IDs because of its clock.
func (f *facts) wrongClock(level snowraftv1.VerdictLevel, m *snowraftv1.MemberView) finding {
	name := m.GetMember().GetName()
	text := name + " issues no IDs: its clock is "
	if m.GetReason() == rpc.ClockSkew {
		if m.GetClockOffsetMs() <= f.GetMaxClockOffsetMs() { // measured differently, or refused for another reason
			return of(level, name+" issues no IDs: "+m.GetProblem(), correctClock(name), runbookAhead).about(name)
		}
		return of(level, text+fmt.Sprintf("%s ahead of the majority's, limit %s", offset(m.GetClockOffsetMs(), f.GetMaxClockOffsetMs()), millis(f.GetMaxClockOffsetMs())),
			correctClock(name), runbookAhead).about(name)
	}
	behind := f.GetObservedClockAtMs() - m.GetClockAtMs()
	if behind <= f.GetWaitThresholdMs() { // the lane has issued IDs with future times
		return of(level, name+" issues no IDs: "+m.GetProblem(), "", runbookBehind).about(name)
	}
	than := "the observed clock"
	if off := -m.GetClockOffsetMs(); off > f.GetWaitThresholdMs() { // unlike the observed clock, the majority's does not jump
		behind, than = off, "the majority's"
	}
	return of(level, text+fmt.Sprintf("%s behind %s, limit %s", offset(behind, f.GetWaitThresholdMs()), than, millis(f.GetWaitThresholdMs())),
		correctClock(name), runbookBehind).about(name)
}

// correctClock returns the remedy for a clock that differs from the majority's. The majority can be wrong, too.
func correctClock(name string) string {
	return "correct the clock of " + name + ", or those of the others if it is correct"
}

// observedAhead returns the finding about an observed clock that is ahead of most clocks.
func (f *facts) observedAhead(level snowraftv1.VerdictLevel, behind []*snowraftv1.MemberView) finding {
	least := f.GetObservedClockAtMs() - behind[0].GetClockAtMs()
	for _, m := range behind {
		least = min(least, f.GetObservedClockAtMs()-m.GetClockAtMs())
	}
	return of(level, fmt.Sprintf("the observed clock is at least %s ahead of the clocks of %s, which issue no IDs", offset(least, f.GetWaitThresholdMs()), list(names(behind))),
		"correct the clocks, or set the observed clock back if they are correct", runbookObserved).by("snowraft clock reset")
}

// clocks returns findings about wrong clocks of members that issue IDs.
func (f *facts) clocks() (all []finding) {
	limit := f.GetMaxClockOffsetMs()
	for _, m := range f.issuing {
		off := m.GetClockOffsetMs()
		name := m.GetMember().GetName()
		switch {
		case limit == 0:
		case off > limit/2:
			all = append(all, of(warning, fmt.Sprintf("the clock of %s is %s ahead of the majority's, and beyond %s it stops issuing", name, offset(off, 0), millis(limit)),
				correctClock(name), runbookAhead).about(name))
		case -off > max(limit, f.GetWaitThresholdMs()/2):
			all = append(all, of(warning, fmt.Sprintf("the clock of %s is %s behind the majority's", name, offset(-off, 0)),
				correctClock(name), runbookBehind).about(name))
		}
	}
	return all
}

// millis returns a duration in ms as text for people.
func millis(ms int64) string { return span(time.Duration(ms) * time.Millisecond) }
