package fsm

import (
	"math"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// moveSequence makes a sequence one that moved: another system issues its numbers from the next one on, which lies beyond all
// granted ones. So blocks that processes still hold have no number of that system. The sequence grants nothing and does not change
// until an operator resumes it with the last number of that system. Moving it again changes nothing.
func (s *State) moveSequence(e entry) Result {
	c := e.cmd.GetMoveSequence()
	old, refused := s.sequences.named(c.GetName())
	switch {
	case refused != nil:
		return Result{Err: refused}
	case old.stops == stopMoved:
		return Result{Sequence: old.view()}
	}
	if refused = old.thawed(); refused == nil && c.GetGeneration() != 0 {
		refused = old.checkGeneration(c.GetGeneration())
	}
	switch {
	case refused != nil:
		return Result{Err: refused}
	case old.spec.gapless():
		return Result{Err: invalid("sequence %q is gapless and accounts for each number, which another system cannot continue; keep it here", old.name)}
	case old.spec.resets():
		return Result{Err: invalid("sequence %q begins again in each period, which another system cannot continue; keep it here", old.name)}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	q := *old
	q.generation, q.numbering, q.stops = e.index, e.index, stopMoved
	q.forbidReturn()
	if q.passGranted(); q.remaining() == 0 || !q.used.behind(q.view().Next, q.spec.increment) {
		return Result{Err: q.view().Exhausted(0)}
	}
	s.sequences.put(&q)
	s.sequenceRevision++
	return Result{Sequence: q.view()}
}

// passGranted moves the next number beyond all granted ones, if it is among them: numbers were forced to repeat.
func (q *sequence) passGranted() {
	if next, ok := q.next(); ok {
		skip, left := q.ahead(next, nil), capacity(next, q.spec.increment, math.MinInt64, math.MaxInt64)
		if skip > 0 && skip < left {
			q.moveTo(numberAt(next, skip, q.spec.increment))
		}
	}
}

// ahead returns the number of steps from a number to the first one that follows all granted numbers and, if it is given, the last
// one of another system.
func (q *sequence) ahead(from int64, last *int64) (steps uint64) {
	if last != nil {
		steps = stepsBeyond(from, *last, q.spec.increment)
	}
	if bound, some := q.used.end(q.spec.increment); some {
		steps = max(steps, stepsBeyond(from, bound, q.spec.increment))
	}
	return steps
}

// takeBack makes the next number of a sequence that moved follow the last one of the other system, too, and margin numbers more.
// All numbers before it count as granted from now on.
func (q *sequence) takeBack(last int64, margin uint64) *Refused {
	next, ok := q.next()
	skip, left := q.ahead(next, &last), capacity(next, q.spec.increment, math.MinInt64, math.MaxInt64)
	if !ok || skip >= left || margin >= left-skip {
		return invalid("after: no 64-bit number of sequence %q follows %d and %d further numbers; use another sequence", q.name, last, margin)
	}
	q.moveTo(numberAt(next, skip+margin, q.spec.increment))
	q.used = before(q.base, q.spec.increment)
	return nil
}

func refuseMoved(name string) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_SEQUENCE_MOVED,
		"sequence %q moved to another system, which issues its numbers; take them there, or move it back with \"snowraft seq resume\" or \"snowraft import\"", name)
}
