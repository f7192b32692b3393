package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// resumeSequence ends the freeze of a sequence, or of a deleted one, and its move to another system. The next number lies beyond
// all numbers that the state knows to be granted and all numbers that, according to the operator, may have been granted.
func (s *State) resumeSequence(e entry) Result {
	c := e.cmd.GetResumeSequence()
	old, live := s.sequences.live.Get(c.GetName())
	if !live {
		var ok bool
		if old, ok = s.sequences.deleted.Get(c.GetName()); !ok {
			_, refused := s.sequences.named(c.GetName())
			return Result{Err: refused}
		}
	}
	if refused := old.checkGeneration(c.GetGeneration()); refused != nil {
		return Result{Err: refused}
	}
	if len(c.GetFormats()) > 0 && !c.GetFormatsStated() || c.GetFormatsStated() && c.GetPeriod() != 0 {
		return Result{Err: invalid("formats: expected formats_stated, and no period")}
	}
	if c.GetPeriod() != 0 {
		return s.resumePeriod(e, old, live)
	}
	counts := c.After != nil || c.GetMargin() > 0
	switch {
	case !c.GetFormatsStated():
	case old.stops.frozen() && !counts:
		return Result{Err: invalid("formats of sequence %q: it is frozen, so state its last number too", old.name)}
	case !old.stops.frozen() && !counts:
		return s.resumeFormats(e, old, live)
	}
	switch {
	case old.stops.moved() && c.After == nil:
		return Result{Err: invalid("after: sequence %q moved to another system; make that system refuse to issue numbers, and give its last one", old.name)}
	case !old.stops.frozen() && !old.stops.moved():
		return Result{Err: invalid("sequence %q is not frozen; to skip numbers, set its next number with \"snowraft seq set\"", old.name)}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	q := *old
	q.generation, q.numbering, q.stops = e.index, e.index, 0
	if c.GetFormatsStated() {
		if refused := s.stateFormats(&q, c.GetFormats()); refused != nil {
			return Result{Err: refused}
		}
	}
	if !old.stops.frozen() {
		if refused := q.takeBack(c.GetAfter(), c.GetMargin()); refused != nil {
			return Result{Err: refused}
		}
	} else if q.spec.gapless() && live {
		p := s.edit(&q, e)
		if refused := p.resumeGapless(c.After, c.GetMargin()); refused != nil {
			return Result{Err: refused}
		}
		p.commit()
		q = p.q
	} else if refused := q.resume(c.After, c.GetMargin()); refused != nil {
		return Result{Err: refused}
	}
	if !live {
		q.moveTo(q.spec.start) // the state that deleteSequence leaves
	}
	if old.stops.frozen() {
		s.frozen--
	}
	return s.resumed(&q, live)
}

// resumeFormats keeps the operator's statement about the formats of a name, and leaves its numbers as they are.
func (s *State) resumeFormats(e entry, old *sequence, live bool) Result {
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	q := *old
	q.generation = e.index
	if refused := s.stateFormats(&q, e.cmd.GetResumeSequence().GetFormats()); refused != nil {
		return Result{Err: refused}
	}
	return s.resumed(&q, live)
}

// resumed puts a sequence that was resumed, or a part of it, or the record of a deleted one.
func (s *State) resumed(q *sequence, live bool) Result {
	if live {
		s.sequences.put(q)
	} else {
		q.numbering = q.generation
		s.sequences.putDeleted(q)
	}
	s.sequenceRevision++
	v := q.view()
	v.Deleted = !live
	return Result{Sequence: v}
}

// resumePeriod ends the freeze of an ended period. Its next number lies beyond all numbers that the state knows to be
// granted in it and all that, according to the operator, may have been granted.
func (s *State) resumePeriod(e entry, old *sequence, live bool) Result {
	c := e.cmd.GetResumeSequence()
	if refused := old.thawed(); refused != nil {
		return Result{Err: refused}
	}
	if refused := old.checkEnded(c.GetPeriod()); refused != nil {
		return Result{Err: refused}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	if old.spec.gapless() && live {
		return s.resumeGaplessPeriod(e, old)
	}
	ended, refused := s.frozenPeriod(old, c.GetPeriod(), c.After)
	if refused != nil {
		return Result{Err: refused}
	}
	counter := old.counter(ended)
	if refused := counter.resume(c.After, c.GetMargin()); refused != nil {
		return Result{Err: refused}
	}
	q := *old
	q.generation = e.index
	q.setEnded(counter)
	return s.resumed(&q, live)
}

// frozenPeriod returns the record of a period that a restore closed, or a new one if the operator states the last number.
func (s *State) frozenPeriod(q *sequence, period int32, after *int64) (ended, *Refused) {
	l := q.late.value()
	e, known := l.find(period)
	switch {
	case q.spec.lateMillis == 0 || period < l.open:
		return e, q.closed(period)
	case known && e.frozen:
		return e, nil
	case known || period > s.skippedPeriod(q.spec):
		return e, invalid("period %s of sequence %q is not closed by a restore", day(period), q.name)
	case after == nil:
		return e, invalid("after: the backup does not have the last number of the period %s of sequence %q; give it", day(period), q.name)
	case !s.sequences.endable():
		return e, refuseEnded()
	}
	return ended{period: period, base: q.spec.start}, nil
}

// resume moves the next number beyond the granted numbers, and margin numbers further. All numbers before it count as
// granted from now on: the earlier cluster may have moved its next number back, to where it never was before.
//
// If no number was granted of a sequence with a reset, the reset may have been removed after the backup, without force.
// So a sequence that is resumed with a last number or a margin loses its reset: its numbers must not begin again.
// Without both, the operator states that no number was granted since.
func (q *sequence) resume(granted *int64, margin uint64) *Refused {
	if q.spec.resets() && !q.used.some && (granted != nil || margin > 0) {
		q.withoutReset()
	}
	if q.spent && granted == nil {
		q.spend() // the next period begins at its start
		return nil
	}
	bound, known := q.used.end(q.spec.increment)
	if granted != nil {
		if known && !(hull{bound, bound, true}).behind(*granted, q.spec.increment) && bound != *granted {
			return refuseResume(q.name, q.spec.increment, bound, *granted)
		}
		bound, known = *granted, true
	}
	next, ok := q.next()
	if !ok {
		q.spend()
		return nil
	}
	skip := uint64(0)
	if known {
		skip = stepsBeyond(next, bound, q.spec.increment)
	}
	left := capacity(next, q.spec.increment, math.MinInt64, math.MaxInt64)
	if skip >= left || margin >= left-skip {
		q.spend()
		return nil
	}
	q.moveTo(numberAt(next, skip+margin, q.spec.increment))
	q.used = before(q.base, q.spec.increment)
	return nil
}

// withoutReset removes the reset of a sequence.
func (q *sequence) withoutReset() {
	spec := *q.spec
	spec.reset, spec.lateMillis = uint8(commandv1.SequenceReset_SEQUENCE_RESET_NONE), 0
	q.spec, q.spent, q.late = &spec, false, nil
}

// spend leaves nothing to grant in the period.
func (q *sequence) spend() { q.used, q.spent = hull{math.MinInt64, math.MaxInt64, true}, true }

// stepsBeyond returns the number of steps from a number to the first number beyond the bound; at most 2^64-1.
func stepsBeyond(from, bound, increment int64) uint64 {
	distance := uint64(bound) - uint64(from)
	switch {
	case increment > 0 && from > bound, increment < 0 && from < bound:
		return 0
	case increment < 0:
		distance = uint64(from) - uint64(bound)
	}
	if steps := distance / step(increment); steps < math.MaxUint64 {
		return steps + 1
	}
	return math.MaxUint64
}

// before returns the hull of all numbers that come before n in the increment's direction; a trace if there are none.
func before(n, increment int64) hull {
	switch {
	case increment > 0 && n > math.MinInt64:
		return hull{math.MinInt64, n - 1, true}
	case increment < 0 && n < math.MaxInt64:
		return hull{n + 1, math.MaxInt64, true}
	}
	return trace(n, increment)
}

// end returns the last number of the hull in the increment's direction.
func (h hull) end(increment int64) (n int64, ok bool) {
	if increment > 0 {
		return h.high, h.some
	}
	return h.low, h.some
}

func refuseResume(name string, increment, known, granted int64) *Refused {
	later := "later"
	if increment < 0 {
		later = "lower" // the sequence counts downward
	}
	return refuse(commandv1.Refusal_REFUSAL_WOULD_REPEAT,
		"sequence %q: numbers up to %d were granted before the backup, issued or not; give that number or a %s one, not %d", name, known, later, granted)
}
