package fsm

import (
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// createSequence adds a sequence. Repeating it with the same specification, or on demand,
// changes nothing and succeeds. Numbers that a deleted sequence of that name issued in the
// same period are not issued again unless forced. A forced command can name the generation
// of the deleted sequence that it replaces, because another may have been deleted since.
func (s *State) createSequence(e entry) Result {
	c := e.cmd.GetCreateSequence()
	if refused := checkSequence(c.GetSpec()); refused != nil {
		return Result{Err: refused}
	}
	if c.GetSpec().GetTemplate() != "" {
		return Result{Err: invalid("template: is set by the first use of a sequence only")}
	}
	name, spec := c.GetSpec().GetName(), compact(c.GetSpec())
	if err := spec.checkPeriod(c.GetPeriod()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	refused := s.checkCodeSecret(spec.code, c.GetCodeSecret())
	if refused != nil {
		return Result{Err: refused}
	}
	if c.GetOnDemand() && (c.GetForce() || c.Replaces != nil) {
		return Result{Err: invalid("on_demand: cannot be combined with force")}
	}
	if existing, ok := s.sequences.live.Get(name); ok {
		if refused := existing.thawed(); refused != nil {
			return Result{Err: refused}
		}
		if spec.template = existing.spec.template; !c.GetOnDemand() && *existing.spec != *spec {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS,
				"sequence %q exists with another %s; update it, or choose another name", name, differing(existing.spec.message(name), spec.message(name)))}
		}
		return Result{Sequence: existing.view()}
	}
	if c.GetOnDemand() {
		mode, refused := s.modeOnDemand(name)
		if refused != nil {
			return Result{Err: refused}
		}
		spec.mode = uint8(mode)
		if t := s.templates.of(name); t != nil {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
				"sequence %q begins with template %q, which was created during the call; send the request again", name, t.pattern)}
		}
	}
	q := &sequence{
		name: name, spec: s.sequences.shared(name, spec), created: e.now,
		incarnation: e.index, generation: e.index, numbering: e.index, base: spec.start, period: c.GetPeriod(),
	}
	old, ok := s.sequences.deleted.Get(name)
	if c.Replaces != nil && c.GetReplaces() != s.DeletedGeneration(name) {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
			"sequence %q was created and deleted during the call; send the request again if you still want it", name)}
	}
	if ok {
		if refused := old.thawed(); refused != nil {
			return Result{Err: refused}
		}
		if c.GetOnDemand() && old.formatted() {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_WOULD_REPEAT,
				"sequence %q was deleted, and its texts had a format; create it with \"snowraft seq create\"", name)}
		}
		if err := old.grows(e.index); err != nil {
			return halted(err)
		}
		if refused := q.succeed(old, c.GetForce(), s.skippedPeriod(spec)); refused != nil {
			return Result{Err: refused}
		}
		ended := *old
		if ended.period < q.period {
			ended.roll(q.period, s.sequences.endable())
		}
		q.inherit(&ended, c.GetPeriod())
	} else if refused := s.newName(name); refused != nil {
		return Result{Err: refused}
	}
	q.closeUnaccounted(c.GetPeriod())
	if q.code, refused = q.code.keep(name, spec); refused != nil {
		return Result{Err: refused}
	}
	s.keepCodeSecret(spec.code, c.GetCodeSecret())
	s.sequences.put(q)
	s.sequenceRevision++
	return Result{Sequence: q.view()}
}

// newName refuses a sequence of a name that the state does not know, if names are closed or the limit is reached.
func (s *State) newName(name string) *Refused {
	if refused := s.openNames("sequence", name); refused != nil {
		return refused
	}
	if s.sequences.len() >= s.maxSequences {
		return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"limit of %d sequences reached, deleted ones included; use an existing sequence", s.maxSequences)
	}
	return nil
}

// CheckNewName returns the refusal that a command to create a sequence would get now, because the state does not know its name;
// nil otherwise.
func (s *State) CheckNewName(name string) error {
	_, live := s.sequences.live.Get(name)
	_, deleted := s.sequences.deleted.Get(name)
	if refused := s.newName(name); refused != nil && !live && !deleted {
		return refused
	}
	return nil
}

// modeOnDemand returns the mode in which the configuration lets an INCR create a sequence.
func (s *State) modeOnDemand(name string) (commandv1.SequenceMode, *Refused) {
	switch s.Config().GetRedisCreate() {
	case commandv1.AutoCreate_AUTO_CREATE_RELAXED:
		return commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, nil
	case commandv1.AutoCreate_AUTO_CREATE_STRICT:
		return commandv1.SequenceMode_SEQUENCE_MODE_STRICT, nil
	}
	return 0, refuse(commandv1.Refusal_REFUSAL_REDIS_CREATE_OFF,
		"sequence %q does not exist, and redis_create is off; create it with \"snowraft seq create\"", name)
}

// succeed takes over the record of a deleted sequence of that name. Unless forced, it refuses a
// creation that may repeat numbers. A deleted sequence with a reset was granted numbers in periods
// that are not remembered, and its periods and those of another reset contain one another. A deleted
// sequence without a reset remembers all of its numbers. An earlier cluster may have given it a reset, so no
// period up to skipped begins.
func (q *sequence) succeed(old *sequence, force bool, skipped int32) *Refused {
	period := max(q.period, old.period)
	if !old.spec.resets() {
		period = max(period, skipped)
	}
	fresh := period > old.period && old.spec.resets() && q.spec.resets()
	q.code, q.formats = old.code, old.formats
	if !force {
		if old.used.some && old.spec.resets() && !q.spec.calendar().sameAs(old.spec.calendar()) {
			return wouldRepeat(q.name, "numbers of the deleted sequence were granted under another reset or start of years; keep both, choose another name")
		}
		if !fresh && old.used.meets(q.base, q.spec.increment, q.spec.min, q.spec.max) {
			return wouldRepeat(q.name, fmt.Sprintf("numbers from %d to %d of the deleted sequence were granted; start beyond them", old.used.low, old.used.high))
		}
		q.period = period
	}
	if fresh && old.used.some {
		q.used = trace(q.base, q.spec.increment)
	} else {
		q.used = old.used
	}
	return nil
}

// updateSequence replaces a sequence's specification and, with next, its next number.
func (s *State) updateSequence(e entry) Result {
	c := e.cmd.GetUpdateSequence()
	q, refused := s.judgeUpdate(e.index, c)
	if refused != nil {
		return Result{Err: refused}
	}
	if old, _ := s.sequences.live.Get(q.name); old.grows(e.index) != nil {
		return halted(old.grows(e.index))
	}
	s.keepCodeSecret(q.spec.code, c.GetCodeSecret())
	s.sequences.put(q)
	s.sequenceRevision++
	return Result{Sequence: q.view()}
}

// CheckUpdate returns the refusal that a change of a sequence would get now; nil if it would have an effect.
func (s *State) CheckUpdate(c *commandv1.UpdateSequence) error {
	if _, refused := s.judgeUpdate(s.index+1, c); refused != nil {
		return refused
	}
	return nil
}

// judgeUpdate returns a sequence as a command at an index would change it.
func (s *State) judgeUpdate(index uint64, c *commandv1.UpdateSequence) (*sequence, *Refused) {
	if refused := checkSequence(c.GetSpec()); refused != nil {
		return nil, refused
	}
	old, refused := s.sequences.named(c.GetSpec().GetName())
	if refused != nil {
		return nil, refused
	}
	if refused := old.thawed(); refused != nil {
		return nil, refused
	}
	if refused := old.checkGeneration(c.GetGeneration()); refused != nil {
		return nil, refused
	}
	spec := compact(c.GetSpec())
	if spec.template != old.spec.template {
		return nil, invalid("template: never changes after the first use of a sequence")
	}
	if c.Next != nil && (c.GetNext() < spec.min || c.GetNext() > spec.max) {
		return nil, invalid("next number %d: expected %d to %d", c.GetNext(), spec.min, spec.max)
	}
	if refused := old.outdatedLedger(spec, c.Next != nil); refused != nil {
		return nil, refused
	}
	for _, period := range []int32{c.GetPeriod(), c.GetOpenFrom()} {
		if period != 0 && checkDate(period) != nil {
			return nil, invalid("%v", checkDate(period))
		}
	}
	if refused := s.checkCodeSecret(spec.code, c.GetCodeSecret()); refused != nil {
		return nil, refused
	}
	before := *old
	before.closeBefore(c.GetOpenFrom())
	q := before.updated(index, s.sequences.shared(old.name, spec), c.Next)
	if q.code, refused = old.code.keep(old.name, spec); refused != nil {
		return nil, refused
	}
	q.inherit(&before, c.GetPeriod())
	if !old.spec.gapless() {
		q.closeUnaccounted(c.GetPeriod())
	}
	if refused := s.changeFormat(old, q); refused != nil {
		return nil, refused
	}
	if !c.GetForce() && old.ledger == nil {
		if refused := old.checkRepeat(q, c.Next != nil); refused != nil {
			return nil, refused
		}
	}
	return q, nil
}

// updated returns the sequence with another specification. Its next number is next, if
// given. Otherwise the next number stays, even if it is outside the new bounds. If none
// was left, the next number is the one after the last granted number. A sequence that
// never granted anything begins at the new start. A change of nothing but the description
// leaves the blocks of members as they are.
func (q *sequence) updated(index uint64, spec *sequenceSpec, next *int64) *sequence {
	u := *q
	u.spec, u.generation = spec, index
	described := *q.spec
	if described.description = spec.description; described == *spec && next == nil {
		return &u
	}
	u.numbering = index
	u.forbidReturn()
	following, ok := q.next()
	switch {
	case next != nil:
		u.moveTo(*next)
	case !q.used.some && q.base == q.spec.start:
		u.moveTo(spec.start)
	case spec.increment == q.spec.increment:
	case q.granted == 0, ok && following >= q.spec.min && following <= q.spec.max:
		u.moveTo(following)
	default:
		last, _ := q.last()
		if following, ok = after(last, spec.increment); ok {
			u.moveTo(following)
		} else {
			u.moveTo(last)
			u.granted, u.lastFrom = 1, 0
		}
	}
	return &u
}

// checkRepeat refuses to turn the sequence into u if that may repeat numbers. Numbers
// that follow without the change too are not checked: an earlier command decided on them.
//
// Once a number was granted, the reset stays, and so does the start of years that begin periods. A shorter period begins inside one whose
// numbers were granted, and members that have not applied the change issue those with
// later dates still. A longer one contains periods whose numbers are not remembered.
func (q *sequence) checkRepeat(u *sequence, moved bool) *Refused {
	if !u.spec.calendar().sameAs(q.spec.calendar()) && q.used.some {
		return wouldRepeat(q.name, "the reset or the start of years would change after numbers were granted; keep both, create another sequence")
	}
	if !moved && u.spec.increment == q.spec.increment && u.spec.min == q.spec.min && u.spec.max == q.spec.max {
		return nil
	}
	if next, ok := u.next(); ok && u.used.meets(next, u.spec.increment, u.spec.min, u.spec.max) {
		return wouldRepeat(q.name, fmt.Sprintf("numbers from %d to %d were granted, and the next number would be %d; choose numbers beyond them", u.used.low, u.used.high, next))
	}
	return nil
}

// deleteSequence deletes a sequence and keeps the record of its numbers and its codes. It refuses if the command has a generation and
// the sequence was changed since.
func (s *State) deleteSequence(e entry) Result {
	c := e.cmd.GetDeleteSequence()
	q, refused := s.sequences.named(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	if refused := q.thawed(); refused != nil {
		return Result{Err: refused}
	}
	if c.GetGeneration() != 0 {
		if refused := q.checkGeneration(c.GetGeneration()); refused != nil {
			return Result{Err: refused}
		}
	}
	if q.ledger != nil {
		return Result{Err: invalid("sequence %q is gapless and has drawn numbers, which must stay explained; keep it, and lower its maximum to stop it", q.name)}
	}
	if err := q.grows(e.index); err != nil {
		return halted(err)
	}
	tomb, spec := *q, *q.spec
	spec.timeZone, spec.description, spec.template = "", "", ""
	if spec.format = ""; s.version >= DocumentVersion {
		tomb.setEarlier(q.left())
	}
	tomb.spec, tomb.generation, tomb.numbering = &spec, e.index, e.index
	tomb.moveTo(spec.start)
	s.sequences.bury(&tomb, s.version >= DocumentVersion) // else the name could begin again by its first use
	s.noteBegun(q.spec.template, -1)
	s.sequenceRevision++
	return Result{}
}

// checkGeneration refuses a command that was decided for another generation: a compare-and-swap.
func (q *sequence) checkGeneration(generation uint64) *Refused {
	if generation == q.generation {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
		"sequence %q has generation %d, not %d; read it again before you repeat the change", q.name, q.generation, generation)
}

// grows returns an error unless the index of a command is above the indexes of all
// earlier changes of the sequence: its incarnation, its generation and its tokens.
func (q *sequence) grows(index uint64) error {
	if last := max(q.generation, q.lastToken); index <= last {
		return haltAt(index, adviseRejoin, fmt.Errorf("sequence %q was changed at index %d already, and indexes must grow", q.name, last))
	}
	return nil
}

func wouldRepeat(name, why string) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_WOULD_REPEAT, "sequence %q may repeat numbers: %s, or set force if repetitions do no harm", name, why)
}
