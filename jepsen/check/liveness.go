package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// recovery is how long after the last fault everything has to work again.
const recovery = int64(10 * time.Second)

// Held returns the number of workers of a layout that were held at the end, by the committed log.
type Held func(layout string) int

// Liveness fails unless, after the last fault,
//
//   - each member whose process is running at the end answers IDs again within ten seconds, if
//     members are asked for any in the run, and so do strict sequences and Redis, too;
//   - no founder that was started then ends by itself again;
//   - each of them says that the observed clock is close to the harness's clock, at the end;
//   - no worker is held at the end but by processes that are running, or in windows that can't
//     have passed. That takes held; if it is nil, only those that may be are counted. Processes
//     that tell no status, such as generators, are taken to have one lane of each layout.
//
// Of a layout with very few workers, that all of them are taken is an answer as well.
//
// Where nobody asked there is no answer to miss: then the run is invalid. Left out are members that are
// not in the header and have no vote, because they were removed, and those that were started again less than
// ten seconds before the end, as in a loop of crashes.
func Liveness(r *Run, held Held) Verdict {
	v := newVerdict("liveness")
	healed, ok := r.Phases[history.PhaseHealed]
	end, okEnd := r.Phases[history.PhaseEnd]
	if !ok || !okEnd {
		v.invalid("the history does not say when faults or clients ended")
	} else {
		l := &liveness{run: r, v: v, healed: healed, end: end, services: make(map[string]*resumption), members: make(map[string]*resumption)}
		if err := l.judge(held); err != nil {
			v.invalid("%v", err)
		}
	}
	v.Summary = fmt.Sprintf("%d of %d live members answered IDs within %v of the last fault, the last of them after %.1f s; %d workers held, %d at most by the processes",
		v.Facts["members_answering"], v.Facts["members_live"], time.Duration(recovery), float64(v.Facts["recovery_ns"])/1e9, v.Facts["workers_held"], v.Facts["workers_allowed"])
	return *v
}

// liveness is what is known of one run.
type liveness struct {
	run         *Run
	v           *Verdict
	healed, end int64
	live        []ProcessSpan          // members that are running at the end
	members     map[string]*resumption // of members, for IDs
	services    map[string]*resumption // strict sequences and Redis, from whichever member
}

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
		l.v.invalid("no member is running at the end")
	}
	if err := l.read(); err != nil {
		return err
	}
	asked := slices.ContainsFunc(l.live, func(p ProcessSpan) bool { return l.members[p.Member].everAsked })
	for _, p := range l.live {
		if asked && l.resumed(l.members[p.Member], "member "+p.Member+" did not answer IDs") {
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

// read looks at everything that clients did.
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
				op.Outcome = history.OK // nothing better is to be had
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

// small reports whether a layout has so few workers that a run may well hold them all.
func (l *liveness) small(layout string) bool {
	const many = 16
	found := l.run.Layouts[layout]
	return found != nil && found.Workers() < many
}

// resumed reports whether something answered in time, and says so if not.
func (l *liveness) resumed(d *resumption, what string) bool {
	took := d.answered - d.from
	switch {
	case d.answered <= d.from+recovery:
		l.v.Facts["recovery_ns"] = max(l.v.Facts["recovery_ns"], took)
		return true
	case !d.asked || l.end < d.from+recovery:
		l.v.invalid("%s within %v of %s, and nobody asked, or clients ended before", what, time.Duration(recovery), l.run.clock(d.from))
	case d.answered == math.MaxInt64:
		l.v.fail("%s again after %s: %s", what, l.run.clock(d.from), d.lastFailure)
	default:
		l.v.fail("%s within %v of %s, but only after %v: %s", what, time.Duration(recovery), l.run.clock(d.from), time.Duration(took), d.lastFailure)
	}
	return false
}

// belongs reports whether a process is of a member of the cluster.
func (l *liveness) belongs(p ProcessSpan) bool {
	last, _ := l.run.lastStatus(p.Start)
	return slices.Contains(l.run.Header.Members, p.Member) || last.Voter
}

// stays judges how a founder's process ended that was started when nothing was wrong anymore. It is
// started again each time, so that at the end it may well be down, or too young to be judged otherwise.
func (l *liveness) stays(p ProcessSpan) {
	founder := !p.Generator && slices.Contains(l.run.Header.Members, p.Member)
	if founder && p.From > l.healed && p.To < l.end && p.Exit != exitKilled {
		l.v.fail("%s was started after the last fault, and ended with %q at %s", l.run.process(p.Start), p.Exit, l.run.clock(p.To))
	}
}

// lastStatus is what a process said of itself last.
func (r *Run) lastStatus(start uint32) (last history.Status, ok bool) {
	for _, s := range r.Statuses {
		if s.Start == start && s.Error == "" && s.Return >= last.Return {
			last, ok = s, true
		}
	}
	return last, ok
}
