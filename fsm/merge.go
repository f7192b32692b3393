package fsm

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Merge makes the state cover other states of the same cluster: everything that is granted in any of them is granted in it. The
// states may be of one history, or of histories that diverged when members were set back. Only [State.Restore] may be called
// afterwards, and the others must not be used.
//
//   - The fsm_version and the observed clock are the latest ones, and each worker has its highest high-water.
//   - A past ends where that of any state ends, and has the jobs of all.
//   - A sequence is deleted if all states that know it deleted it. Its numbers are those of all states.
//   - A sequence is moved if it is in any state: another system may issue its numbers.
//   - A name has the earlier formats of all states.
//   - Codes have the secret of any state that has one, and a name has the codes of any of them.
//   - Everything else is that of this state: the configuration, the tokens, and the answers to request IDs.
//
// Merge fails if two states have different layouts of one name, different secrets of codes, or different codes of one
// name, or if one cluster cannot have all layouts or sequences.
func (s *State) Merge(others ...*State) error {
	for _, other := range others {
		s.certain = max(min(s.certainClock(), other.certainClock()), 1)
		s.version = max(s.version, other.version)
		if err := s.mergeCodes(other); err != nil {
			return err
		}
		s.index, s.observed = max(s.index, other.index), max(s.observed, other.observed)
		for _, name := range other.names {
			if err := s.mergeLayout(other.layouts[name]); err != nil {
				return err
			}
		}
		for q, deleted := range other.sequences.all() {
			s.mergeSequence(q, deleted)
		}
	}
	s.countBegun()
	s.dropAnswers()
	if n := len(s.names); n > maxLayouts {
		return fmt.Errorf("%d layouts together: expected at most %d", n, maxLayouts)
	}
	if n := s.sequences.len(); n > s.maxSequences {
		return fmt.Errorf("%d sequences together, including deleted ones: expected at most %d", n, s.maxSequences)
	}
	return nil
}

// dropAnswers forgets the answers of sequences whose record is now that of another state, which does not know them.
func (s *State) dropAnswers() {
	kept := s.answers.kept()
	s.answers = newAnswers()
	for _, a := range kept {
		if q, live := s.sequences.live.Get(a.sequence); !live || q.incarnation >= a.incarnation && q.generation >= a.block.Generation {
			s.answers.append(a)
		}
	}
}

// mergeCodes takes over the secret of codes, and the codes of names that have none in this state.
func (s *State) mergeCodes(other *State) error {
	switch {
	case s.codeSecret == nil:
		s.codeSecret = other.codeSecret
	case other.codeSecret != nil && *other.codeSecret != *s.codeSecret:
		return errors.New("codes have another secret in each of them, and may have been issued under both")
	}
	for q := range other.sequences.all() {
		own, ok := s.sequences.record(q.name)
		if ok && own.code != q.code && own.code != (code{}) && q.code != (code{}) {
			return fmt.Errorf("sequence %q has the codes %v in one of them and %v in another, and may have issued both", q.name, own.code, q.code)
		}
	}
	return nil
}

// mergeLayout covers a layout of another state. The records of the workers are those of the state that has more of them.
func (s *State) mergeLayout(other *layout) error {
	l, ok := s.layouts[other.name]
	if !ok {
		s.addLayout(other)
		return nil
	}
	if is, others := LayoutSpec(l.layout.Spec()), LayoutSpec(other.layout.Spec()); !proto.Equal(is, others) {
		return fmt.Errorf("layout %q has another %s in each of them, and IDs may have been issued of both", l.name, differing(is, others))
	}
	if other.workers.count() > l.workers.count() {
		l, other = other, l
		s.layouts[l.name] = l
	}
	if l.past != nil {
		l.past.merge(other.past)
	}
	for number := range other.workers.count() {
		l.raise(number, other.workers.highWater(number))
	}
	return nil
}

// mergeSequence covers a sequence of another state, or a deleted one. It keeps the record of this state, unless only the other
// one is live, or only of the other one something was granted.
func (s *State) mergeSequence(other *sequence, deleted bool) {
	q, live := s.sequences.live.Get(other.name)
	if !live {
		q, _ = s.sequences.deleted.Get(other.name)
	}
	alive := !deleted // whether other is live
	switch {
	case q == nil:
		q, live = other, alive
	case !live && alive, live == alive && !q.used.some && other.used.some:
		q, other, live, alive = other, q, alive, live
	}
	merged := q.covering(other)
	if formats := joinFormats(q.earlier(), other.earlier()); alive && other != q && s.version >= DocumentVersion {
		merged.setEarlier(joinFormats(formats, other.left()))
	} else {
		merged.setEarlier(formats)
	}
	if live {
		s.sequences.put(merged)
	} else {
		s.sequences.putDeleted(merged)
	}
}

// covering returns a copy of q that covers the numbers of another record of its name.
func (q *sequence) covering(other *sequence) *sequence {
	c := *q
	c.stops |= other.stops & stopMoved
	if c.code == (code{}) {
		c.code = other.code
	}
	switch {
	case other.used.some && other.spec.reset != q.spec.reset:
		// The numbers of both must not begin again, and those of earlier periods are not remembered. So the operator must give
		// the last one.
		c.withoutReset()
		c.used, c.period, c.spent = q.used.join(other.used), max(q.period, other.period), true
	case !q.spec.resets() || other.period == q.period:
		c.used = q.used.join(other.used)
	case other.period > q.period:
		c.roll(other.period, true)
		c.used, c.spent = other.used, other.spent
	}
	if c.spec.calendar().sameAs(other.spec.calendar()) {
		ended := *other
		if ended.period < c.period {
			ended.roll(c.period, true)
		}
		c.keep(c.late.value().join(ended.late.value()))
	}
	if !c.used.some && (q.used.some || other.used.some) {
		c.used = trace(c.base, c.spec.increment)
	}
	c.coverNumbers(q, other)
	return &c
}
