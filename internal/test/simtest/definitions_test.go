package simtest

import (
	"fmt"

	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// definitions checks the numbers of a sequence against its definition in their generation.
// A requested definition without an answer may be in force.
type definitions struct {
	asked    map[terms]struct{}
	known    map[uint64]terms // terms by generation
	editions map[edition]*extent
}

// terms are the constraints of a definition on numbers.
type terms struct {
	increment, least, most int64
	strict                 bool
}

// edition identifies the numbers of one generation in one period, which are in the steps of one series.
type edition struct {
	generation uint64
	period     int32
}

// extent describes the issued numbers of an edition.
type extent struct {
	by                           string // last issuer
	some, lowest, highest, steps int64
	own                          bool // issued by a member from its own blocks
}

func newDefinitions() definitions {
	return definitions{make(map[terms]struct{}), make(map[uint64]terms), make(map[edition]*extent)}
}

func termsOf(spec *commandv1.SequenceSpec) terms {
	return terms{spec.GetIncrement(), spec.GetMin(), spec.GetMax(), spec.GetMode() == strict}
}

// breaks describes how numbers violate the terms; "" if they do not.
func (t terms) breaks(e *extent) string {
	switch {
	case e.steps != t.increment:
		return fmt.Sprintf("in steps of %d, want %d", e.steps, t.increment)
	case e.lowest < t.least || e.highest > t.most:
		return fmt.Sprintf("from %d to %d, want %d to %d", e.lowest, e.highest, t.least, t.most)
	case e.own && t.strict:
		return "from its own block, although the sequence was strict"
	}
	return ""
}

// define records a requested definition before it can come into force.
func (s *series) define(spec *commandv1.SequenceSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[termsOf(spec)] = struct{}{}
}

// defined records the definition of a generation of the sequence.
func (s *series) defined(generation uint64, spec *commandv1.SequenceSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := termsOf(spec)
	if _, ok := s.asked[t]; !ok {
		s.fault("%s became %+v, which no client requested", s.spec.GetName(), t)
	}
	if before, ok := s.known[generation]; ok && before != t {
		s.fault("%s was defined as %+v in generation %d, and then as %+v", s.spec.GetName(), before, generation, t)
	}
	s.known[generation] = t
	for d, e := range s.editions {
		if what := t.breaks(e); d.generation == generation && what != "" {
			s.fault("%s issued numbers of %s in generation %d %s", e.by, s.spec.GetName(), generation, what)
		}
	}
}

// judge checks an answer against the definition of the sequence. own reports that the called member
// issued the numbers itself, whether or not it leads.
func (s *series) judge(by string, own bool, n member.Numbering) {
	first, last := n.First, n.Number(n.Count-1)
	answer := &extent{by, first, min(first, last), max(first, last), n.Increment, own}
	what := "that no client requested"
	if t, ok := s.known[n.Generation]; ok {
		what = t.breaks(answer)
	} else {
		for t := range s.asked {
			if t.breaks(answer) == "" {
				what = ""
			}
		}
	}
	of := edition{n.Generation, n.Period}
	all, ok := s.editions[of]
	if ok && what == "" && (first-all.some)%n.Increment != 0 {
		what = fmt.Sprintf("out of step: %d and %d", all.some, first)
	}
	if what != "" {
		s.fault("%s issued %+v of %s in generation %d %s", by, *answer, s.spec.GetName(), n.Generation, what)
	}
	if !ok {
		s.editions[of] = answer
		return
	}
	all.by, all.own = by, all.own || own
	all.lowest, all.highest = min(all.lowest, answer.lowest), max(all.highest, answer.highest)
}

// idle names a kind of event that is missing although enough other events happened; "" if there is none. A simulation
// shows nothing about missing events.
func (n *numbers) idle() string {
	const some, many, ofModal = 500, 300, 200 // least answers, changes, and changes of sequences that change their mode, for a judgment
	n.mu.Lock()
	defer n.mu.Unlock()
	var answers, repeated uint64
	var changes, modal, spent int
	var made [changeKinds]int
	steady, changing := false, false
	for _, s := range n.series {
		answers, repeated, spent = answers+s.answers, repeated+s.repeated, spent+s.spent
		steady, changing = steady || !s.changes, changing || s.changes
		for kind, count := range s.made {
			made[kind] += count
			changes += count
			if s.modes {
				modal += count
			}
		}
	}
	switch {
	case answers < some:
		return ""
	case steady && repeated == 0:
		return "no request was repeated"
	case changing && changes == 0:
		return "nothing was changed"
	case changes < many:
		return ""
	case spent == 0:
		return "no sequence was exhausted"
	}
	for kind, count := range made {
		if count == 0 && (kind != changesMode || modal >= ofModal) { // one in 14 of these changes is of the mode
			return fmt.Sprintf("the changes by kind are %v, want at least one of each", made)
		}
	}
	return ""
}
