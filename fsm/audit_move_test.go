package fsm

import (
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const movedAway = commandv1.Refusal_REFUSAL_SEQUENCE_MOVED

// refusesMoved expects that a sequence at another system is the reason of a refusal.
func (q *auditSequence) refusesMoved(reason commandv1.Refusal) error {
	if reason != movedAway {
		return violated("moved", "a sequence that is at another system returned %v, want %v", reason, movedAway)
	}
	return nil
}

// move checks a move. The other system issues its first numbers at once.
func (q *auditSequence) move(index uint64, c *commandv1.MoveSequence, r Result) error {
	reason := reasonOf(r)
	want := commandv1.Refusal(0)
	switch {
	case !q.live:
		want = unknownSeq
	case q.moved:
	case c.GetGeneration() != 0 && c.GetGeneration() != q.generation:
		want = mismatchedGen
	case q.spec.GetReset_() != resetNone:
		want = invalidArgument
	case reason == exhaustedReas && (q.forced || q.left().Sign() == 0):
		return nil
	}
	if reason != want {
		return violated("rules", "a move of generation %d returned %v, want %v", c.GetGeneration(), reason, want)
	}
	if reason != 0 || q.moved {
		return nil
	}
	q.adopt(index, r.Sequence)
	if q.moved = true; q.next == nil {
		return violated("moved", "%+v moved without a next number", r.Sequence)
	}
	if err := q.follows(q.granted, *q.next); err != nil {
		return err
	}
	for n, ok := *q.next, true; ok && uint64(len(q.away)) < index%4; n, ok = after(n, q.spec.GetIncrement()) {
		q.away = append(q.away, n)
	}
	return nil
}

// takeBack checks the end of a move.
func (q *auditSequence) takeBack(index uint64, c *commandv1.ResumeSequence, r Result) error {
	reason := reasonOf(r)
	switch {
	case !q.live && (reason == unknownSeq || reason == invalidArgument || reason == mismatchedGen):
		return nil
	case q.live && c.GetGeneration() != q.generation && reason == mismatchedGen:
		return nil
	case q.live && (!q.moved || c.After == nil) && reason == invalidArgument:
		return nil
	case reason == invalidArgument && capacity(*q.next, q.spec.GetIncrement(), -1<<63, 1<<63-1) <= 20:
		return nil // no number follows
	case reason != 0 || !q.live || !q.moved || c.After == nil || c.GetGeneration() != q.generation:
		return violated("rules", "%v of %+v returned %v", c, q, r.Err)
	}
	for _, n := range q.away {
		q.granted[auditNumber{q.period, n}] = true
	}
	before := *q
	q.adopt(index, r.Sequence)
	q.moved, q.away = false, nil
	if q.period != before.period || r.Sequence.Moved {
		return violated("rules", "%v returned %+v", c, r.Sequence)
	}
	if q.next == nil {
		return nil
	}
	return q.follows(q.granted, *q.next)
}

// follows checks that a number follows all granted ones.
func (q *auditSequence) follows(granted map[auditNumber]bool, next int64) error {
	for n := range granted {
		if (n.number >= next) == (q.spec.GetIncrement() > 0) || n.number == next {
			return violated("moved", "the next number %d does not follow %d, which was issued", next, n.number)
		}
	}
	return nil
}

// moveOrTakeBack moves a sequence to another system, or takes it back with the last number of that system, which is true, or with a
// lower one if it has issued none.
func (w *world) moveOrTakeBack(p *process) {
	name := w.name()
	q, ghost := w.seen(name), w.audit.sequences[name]
	cmd := move(name)
	cmd.GetMoveSequence().Generation = []uint64{0, q.Generation, q.Generation}[w.choose("blind", 3)]
	if q.Moved && w.choose("stay", 4) > 0 {
		last := q.Spec.GetStart()
		if len(ghost.away) > 0 {
			last = slices.MaxFunc(ghost.away, func(a, b int64) int {
				if (a > b) == (q.Spec.GetIncrement() > 0) {
					return 1
				}
				return -1
			})
		}
		cmd = resume(name, q.Generation, &last, uint64(w.choose("margin", 3)))
		if w.choose("unsaid", 6) == 0 {
			cmd.GetResumeSequence().After = nil
		}
	}
	w.ask(p, nil, cmd)
}
