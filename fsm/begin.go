package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// beginSequence adds the sequence of a name at its first use, with a copy of the settings of the most specific template. The
// order of the log decides between a template's changes and first uses, so all members copy the same settings. An
// existing sequence stays as it is. A deleted name never begins again automatically.
func (s *State) beginSequence(e entry) Result {
	c := e.cmd.GetBeginSequence()
	name := c.GetName()
	if existing, ok := s.sequences.live.Get(name); ok {
		return Result{Sequence: existing.view()}
	}
	t, refused := s.templateFor(name)
	if refused != nil {
		return Result{Err: refused}
	}
	if c.GetTemplate() != t.generation {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
			"template %q has generation %d, not %d; send the request again", t.pattern, t.generation, c.GetTemplate())}
	}
	if err := t.settings.checkPeriod(c.GetPeriod()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if refused := s.countFor(e.cmd.GetActor()); refused != nil {
		return Result{Err: refused}
	}
	q := &sequence{
		name: name, spec: s.sequences.shared(name, t.settings), created: e.now,
		incarnation: e.index, generation: e.index, numbering: e.index, base: t.settings.start, period: c.GetPeriod(),
		code: t.settings.code, // the state has the secret since the template has codes
	}
	if t.start != nil && (!q.spec.resets() || q.period <= s.skippedPeriod(q.spec)) {
		q.base = *t.start
		q.used = before(q.base, q.spec.increment)
	}
	q.closeUnaccounted(q.period)
	s.sequences.put(q)
	s.noteBegun(t.pattern, 1)
	s.sequenceRevision++
	return Result{Sequence: q.view()}
}

// templateFor returns the template with which a sequence of a name that does not exist can begin.
func (s *State) templateFor(name string) (*template, *Refused) {
	if err := CheckSequenceName(name); err != nil {
		return nil, invalid("%v", err)
	}
	if _, ok := s.sequences.deleted.Get(name); ok {
		return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE,
			"sequence %q was deleted, and a deleted name does not begin again by its first use; create it with \"snowraft seq create\"", name)
	}
	t := s.templates.of(name)
	switch {
	case t == nil:
		_, refused := s.sequences.named(name)
		return nil, refused
	case t.suspended:
		return nil, refuse(commandv1.Refusal_REFUSAL_TEMPLATE_SUSPENDED,
			"sequence %q does not exist, and template %q is suspended, because the earlier cluster may have begun it; "+
				"resume the template with \"snowraft template resume\"", name, t.pattern)
	case t.quota != 0 && uint64(s.begun[t.pattern]) >= t.quota:
		return nil, refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"sequence %q: the quota of %d sequences of template %q is used up; raise the quota, or delete sequences", name, t.quota, t.pattern)
	}
	return t, s.newName(name)
}

// countFor counts a sequence toward the limit of the token of an actor. It refuses if the limit is reached.
func (s *State) countFor(a *commandv1.Actor) *Refused {
	switch a.GetKind() {
	case commandv1.ActorKind_ACTOR_KIND_TOKEN, commandv1.ActorKind_ACTOR_KIND_ANONYMOUS:
	default:
		return nil
	}
	old, _, ok := s.tokens.find(a.GetToken())
	if !ok || old.Generation == 0 {
		return nil // a snapshot has no record of it
	}
	if old.Sequences != 0 && old.Begun >= old.Sequences {
		return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"token %q has begun %d sequences, and its limit is %d; raise the limit with \"snowraft token update\"", old.Name, old.Begun, old.Sequences)
	}
	next := *old
	next.Begun++
	s.tokens = s.tokens.with(&next) // no change of permissions, so nothing to publish
	return nil
}

// CheckBegin returns the refusal that a first use of a name would get now; nil if the sequence would begin.
func (s *State) CheckBegin(name string) error {
	if _, refused := s.templateFor(name); refused != nil {
		return refused
	}
	return nil
}
