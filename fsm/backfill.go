package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// pastOf returns a layout that has a past.
func (s *State) pastOf(name string) (*layout, *Refused) {
	l, refused := s.layoutNamed(name)
	if refused == nil && l.past == nil {
		refused = refuse(commandv1.Refusal_REFUSAL_NO_PAST, "layout %q was created without a past, and layouts never change; "+
			"create another layout with \"snowraft layout create NAME --past\"", l.name)
	}
	return l, refused
}

// startBackfill starts a job under the lowest number that no job had.
func (s *State) startBackfill(e entry) Result {
	c := e.cmd.GetStartBackfill()
	l, refused := s.pastOf(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	if err := checkHolder(c.GetHolder()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	p := l.past
	switch {
	case p.closed:
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_PAST_CLOSED, "layout %q: a restore closed its past, because the earlier cluster may have "+
			"started jobs after the backup; open it with \"snowraft backfill resume\"", l.name)}
	case p.next >= l.maxJobs():
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"layout %q: all %d backfill jobs were started; continue one of them, or use another layout", l.name, l.maxJobs())}
	}
	by := s.holdingOf(e.cmd.GetActor(), c.GetHolder())
	p.jobs = append(p.jobs, job{number: p.next, holder: by.holder, owner: by.owner, created: e.now})
	p.next++
	return Result{Backfill: p.jobs[len(p.jobs)-1].view()}
}

// extendBackfill grants a job the places from its position on. A repetition of the job's last extension changes nothing and
// succeeds: the caller derives the same IDs from the same request.
func (s *State) extendBackfill(e entry) Result {
	c := e.cmd.GetExtendBackfill()
	l, refused := s.pastOf(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	digest, ok := hashOf(c.GetDigest())
	if !ok {
		return Result{Err: invalid("digest of %d bytes: expected %d bytes", len(c.GetDigest()), hashBytes)}
	}
	j, refused := l.openJob(c.GetJob())
	if refused != nil {
		return Result{Err: refused}
	}
	from, until := c.GetFromPlace(), c.GetUntilPlace()
	if j.extension == (placing{digest, from}) && until == j.place {
		return Result{Backfill: j.view()}
	}
	switch {
	case from != j.place:
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_BACKFILL_POSITION,
			"backfill job %d of layout %q is at position %d, not %d: another caller continued it; start another job", j.number, l.name, j.place, from)}
	case until <= from || until > l.placeOf(l.past.border):
		return Result{Err: invalid("places %d to %d: expected a place after the first one, and none from %d on, where the past ends",
			from, until, l.placeOf(l.past.border))}
	}
	j.place, j.extension = until, placing{digest, from}
	return Result{Backfill: j.view()}
}

// openJob returns a job that takes more times.
func (l *layout) openJob(number uint64) (*job, *Refused) {
	j, ok := l.past.job(number)
	switch {
	case !ok:
		return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_BACKFILL,
			"layout %q has no backfill job %d; start one with \"snowraft backfill start\"", l.name, number)
	case j.ended:
		return nil, refuse(commandv1.Refusal_REFUSAL_BACKFILL_ENDED, "backfill job %d of layout %q was ended; start another one", number, l.name)
	}
	return j, nil
}

// endBackfill ends a job for good. Repeating it changes nothing.
func (s *State) endBackfill(e entry) Result {
	c := e.cmd.GetEndBackfill()
	l, refused := s.pastOf(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	j, ok := l.past.job(c.GetJob())
	if !ok {
		_, refused := l.openJob(c.GetJob())
		return Result{Err: refused}
	}
	j.ended, j.extension = true, placing{}
	return Result{Backfill: j.view()}
}

// resumeBackfill opens a past that a restore closed. All numbers up to that of the last job that the earlier cluster may have
// started, by the operator's word, are used.
func (s *State) resumeBackfill(e entry) Result {
	c := e.cmd.GetResumeBackfill()
	l, refused := s.pastOf(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	p := l.past
	switch {
	case !p.closed:
		return Result{Err: invalid("the past of layout %q is open, and its next job has the number %d; there is nothing to resume", l.name, p.next)}
	case c.After != nil && c.GetAfter() >= l.layout.Workers():
		return Result{Err: invalid("job %d: layout %q has the jobs 0 to %d", c.GetAfter(), l.name, l.layout.Workers()-1)}
	case c.After != nil && c.GetAfter()+1 < p.next:
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_WOULD_REPEAT,
			"layout %q: jobs up to %d were started before the backup; give that number or a later one, not %d", l.name, p.next-1, c.GetAfter())}
	case c.After != nil:
		p.next = c.GetAfter() + 1
	}
	p.closed = false
	return Result{}
}
