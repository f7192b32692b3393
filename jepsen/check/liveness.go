package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// recovery is the time after the last fault within which everything must work again, in nanoseconds.
const recovery = int64(10 * time.Second)

// Held returns the number of workers of a layout that are held at the end of the run, by the committed log.
type Held func(layout string) int

// Liveness fails unless all of the following hold after the last fault, not counting the time for which the machine kept a
// member from a processor:
//
//   - Each member that runs at the end answers requests for IDs within ten seconds, if clients request IDs of members in
//     the run. Strict sequences and Redis answer within the same time if they answered before.
//   - No founder that starts after the last fault exits, unless it is killed.
//   - Each member that runs at the end reports an observed clock close to the harness's clock.
//   - Each worker held at the end belongs to a running process or has a window that may not have ended. This check needs
//     held. If held is nil, Liveness only counts the workers that may be held. A process without a status, such as a
//     generator, counts as one lane of each layout.
//
// In a layout with very few workers, a refusal because all workers are taken counts as an answer.
//
// If clients made no request in that time, the run is invalid. Liveness ignores removed members: those that are neither
// in the header nor voters. It also ignores members that started less than ten seconds before the end of the load, for
// example in a loop of crashes.
func Liveness(r *Run, held Held) Verdict {
	v := newVerdict("liveness")
	healed, ok := r.Phases[history.PhaseHealed]
	end, okEnd := r.Phases[history.PhaseEnd]
	if !ok || !okEnd {
		v.invalid("the history lacks the end of the faults or of the load")
	} else {
		l := &liveness{run: r, v: v, healed: healed, end: end, services: make(map[string]*resumption), members: make(map[string]*resumption)}
		if err := l.judge(held); err != nil {
			v.invalid("%v", err)
		}
	}
	v.Summary = fmt.Sprintf("%d of %d live members answered requests for IDs within %v of the last fault, "+
		"the last one after %.1f s; %d workers held, at most %d allowed",
		v.Facts["members_answering"], v.Facts["members_live"], time.Duration(recovery), float64(v.Facts["recovery_ns"])/1e9,
		v.Facts["workers_held"], v.Facts["workers_allowed"])
	return *v
}

// liveness is the state of Liveness.
type liveness struct {
	run         *Run
	v           *Verdict
	healed, end int64
	live        []ProcessSpan          // members that run at the end
	members     map[string]*resumption // answers with IDs, by member
	services    map[string]*resumption // answers of strict sequences and of Redis, from any member
}

// judge checks the run. The error means that the history cannot be read.
func (l *liveness) judge(held Held) error {
	for _, p := range l.run.Processes {
		l.stays(p)
		switch {
		case p.Generator || p.To < l.end || !l.belongs(p):
		case p.From > l.healed && p.From+recovery > l.end:
			l.v.Facts["members_too_young"]++
		default:
			l.live = append(l.live, p)
			l.members[p.Member] = newResumption(max(l.healed, p.From))
		}
	}
	l.v.Facts["members_live"] = int64(len(l.live))
	if len(l.live) == 0 {
		l.v.invalid("no member runs at the end")
	}
	if err := l.read(); err != nil {
		return err
	}
	asked := slices.ContainsFunc(l.live, func(p ProcessSpan) bool { return l.members[p.Member].everAsked })
	for _, p := range l.live {
		if asked && l.resumed(l.members[p.Member], "member "+p.Member+" did not answer requests for IDs") {
			l.v.Facts["members_answering"]++
		}
		l.observed(p)
	}
	for _, name := range []string{"strict sequences", "Redis"} {
		if d := l.services[name]; d != nil && d.everAnswered {
			l.resumed(d, name+" did not answer")
		}
	}
	l.workers(held)
	return nil
}

// read adds all operations and issued IDs to the resumptions.
func (l *liveness) read() error {
	modes, err := l.run.modes()
	if err != nil {
		return err
	}
	l.services["strict sequences"], l.services["Redis"] = newResumption(l.healed), newResumption(l.healed)
	for op, err := range l.run.Ops() {
		if err != nil {
			return err
		}
		var d *resumption
		switch {
		case op.Do == history.DoIDs:
			d = l.members[op.Member]
			if p, ok := l.run.Process(op.Start); ok {
				d = l.members[p.Member]
			}
			if op.Reason == reasonExhausted && l.small(op.Key) {
				op.Outcome = history.OK // best possible answer
			}
		case op.Do == history.DoIncr:
			d = l.services["Redis"]
		case op.Do == history.DoNext && isStrict(modes, op):
			d = l.services["strict sequences"]
		}
		if d != nil {
			d.ask(op)
		}
	}
	files, err := history.IDFiles(l.run.Dir)
	if err != nil {
		return err
	}
	for _, paths := range files {
		for i, err := range readAll(paths) {
			if err != nil {
				return err
			}
			if p, ok := l.run.Process(i.Start); ok && l.members[p.Member] != nil {
				l.members[p.Member].answer(i.Call, i.Return)
			}
		}
	}
	return nil
}

// small reports whether a layout has so few workers that a run may hold all of them.
func (l *liveness) small(layout string) bool {
	const many = 16
	found := l.run.Layouts[layout]
	return found != nil && found.Workers() < many
}

// resumed reports whether d was answered in time, and otherwise adds a failure or makes the run invalid. what is the
// first part of the message.
func (l *liveness) resumed(d *resumption, what string) bool {
	took := d.answered - d.from
	within := l.run.extended(d.from, recovery)
	switch {
	case took <= within:
		l.v.Facts["recovery_ns"] = max(l.v.Facts["recovery_ns"], took)
		return true
	case !d.asked || l.end < d.from+within:
		l.v.invalid("%s within %v of %s: no request in that time, or the load ended before",
			what, time.Duration(within), l.run.clock(d.from))
	case d.answered == math.MaxInt64:
		l.v.fail("%s after %s; last failure: %s", what, l.run.clock(d.from), d.lastFailure)
	default:
		l.v.fail("%s within %v of %s, only after %v; last failure: %s",
			what, time.Duration(within), l.run.clock(d.from), time.Duration(took), d.lastFailure)
	}
	return false
}

// belongs reports whether a process is a member of the cluster: a founder, or a voter by its latest status.
func (l *liveness) belongs(p ProcessSpan) bool {
	last, _ := l.run.lastStatus(p.Start)
	return slices.Contains(l.run.Header.Members, p.Member) || last.Voter
}

// stays adds a failure if a founder's process started after the last fault and exited again. The other checks may miss
// that: the harness starts the founder each time, so that it may be down or too young at the end.
func (l *liveness) stays(p ProcessSpan) {
	founder := !p.Generator && slices.Contains(l.run.Header.Members, p.Member)
	if founder && p.From > l.healed && p.To < l.end && p.Exit != exitKilled {
		l.v.fail("%s started after the last fault and exited with %q at %s", l.run.process(p.Start), p.Exit, l.run.clock(p.To))
	}
}

// lastStatus returns the latest status of a process, and whether there is one.
func (r *Run) lastStatus(start uint32) (last history.Status, ok bool) {
	for _, s := range r.Statuses {
		if s.Start == start && s.Error == "" && s.Return >= last.Return {
			last, ok = s, true
		}
	}
	return last, ok
}
