package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// checkLate refuses to draw a number of an ended period that has closed, that began before numbers could be late, or in which
// an earlier cluster may have drawn further numbers.
func (p *posting) checkLate(period int32) *Refused {
	if refused := p.q.checkEnded(period); refused != nil {
		return refused
	}
	l := p.q.late.value()
	a, known := p.l.periods.Get(period)
	switch {
	case p.q.spec.lateMillis == 0 || period < l.open:
		return p.q.closed(period)
	case period <= l.since:
		return refuse(commandv1.Refusal_REFUSAL_PERIOD_CLOSED,
			"sequence %q: the period %s began before numbers could be late; use the present period", p.q.name, day(period))
	case known && a.cut || !known && period <= p.state.skippedPeriod(p.q.spec):
		return refuse(commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN,
			"sequence %q: the earlier cluster may have drawn more numbers of the period %s; resume it with \"snowraft seq resume --period\"", p.q.name, day(period))
	}
	return nil
}

// resumeGaplessPeriod opens an ended period again that a restore closed. All numbers up to the stated last one that have no
// fate become unknown, and margin numbers more.
func (s *State) resumeGaplessPeriod(e entry, old *sequence) Result {
	c := e.cmd.GetResumeSequence()
	p, period := s.edit(old, e), c.GetPeriod()
	known, ok := p.l.periods.Get(period)
	switch {
	case old.spec.lateMillis == 0 || period < old.late.value().open:
		return Result{Err: old.closed(period)}
	case ok && !known.cut, !ok && period > s.skippedPeriod(old.spec):
		return Result{Err: invalid("period %s of sequence %q is not closed by a restore", day(period), old.name)}
	case !ok && c.After == nil:
		return Result{Err: invalid("after: the backup does not have the last number of the period %s of sequence %q; give it", day(period), old.name)}
	}
	a := p.account(period)
	until := a.next
	if c.After != nil {
		if c.GetAfter() < a.next-1 && a.first < a.next {
			return Result{Err: refuseResume(old.name, 1, a.next-1, c.GetAfter())}
		}
		until = max(until, min(c.GetAfter(), math.MaxInt64-1)+1)
	}
	p.l.fill(a, int64(uint64(until)+min(c.GetMargin(), distance(until, math.MaxInt64))), p.stamp)
	a.cut = false
	p.q.generation = e.index
	p.commit()
	s.sequenceRevision++
	return Result{Sequence: p.q.view()}
}
