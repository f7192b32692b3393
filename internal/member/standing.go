package member

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
)

// Standing is a sequence and what this member knows of its numbers that were issued and of those that are left.
type Standing struct {
	fsm.Sequence
	// Exact reports whether the fields below are exact: those of a strict or gapless sequence at the leader. Otherwise, members may hold
	// numbers in blocks. Issued is then the last number that can have been issued, and Left counts the numbers beyond it.
	Exact bool

	Issued    int64  // last number of the period, if HasIssued
	HasIssued bool   // false before the first number, and for a sequence that is frozen or moved
	Following int64  // next number, if Left > 0
	Left      uint64 // numbers of the period that can still be issued

	FormatsUnknown bool // the cluster from before a restore may have given the sequence formats that this one does not know
}

// Standing returns what this member knows of a sequence, which it read before. The numbers do not count that are on their way to the
// leader in a block.
func (m *Member) Standing(s fsm.Sequence) Standing {
	st := Standing{
		Sequence: s, Issued: s.Last, HasIssued: s.HasLast && !s.Frozen && !s.Moved, Following: s.Next, Left: s.Remaining,
		FormatsUnknown: m.formatsUnknown(s),
	}
	lt := m.leaderTerm.Load()
	st.Exact = lt != nil && s.Spec.GetMode() == commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS // no member holds numbers
	if lt == nil || s.Spec.GetMode() != commandv1.SequenceMode_SEQUENCE_MODE_STRICT || s.Frozen || s.Moved || s.Deleted {
		return st
	}
	strict := lt.opened(s.Incarnation)
	for range looks {
		exact := st
		if exact.Exact = true; strict != nil && !strict.stands(&exact) {
			return st
		}
		now, ok := m.fsm.Sequence(s.Spec.GetName())
		switch {
		case !ok || now.Incarnation != s.Incarnation || now.Generation != s.Generation:
			return st
		case now.Remaining == s.Remaining && now.Period == s.Period:
			return exact
		}
		// A block was granted meanwhile.
		s, st.Sequence = now, now
		st.Issued, st.HasIssued, st.Following, st.Left = now.Last, now.HasLast, now.Next, now.Remaining
	}
	return st
}

// stands adds the leader's memory to what the replica knows of a sequence; ok is false if the sequence has changed.
func (s *strictSequence) stands(st *Standing) (ok bool) {
	if s.checkDefinition(nil) != nil {
		return false
	}
	s.mu.Lock()
	gave := s.gave
	s.mu.Unlock()
	if gave.generation != st.Numbering {
		return false
	}
	st.Issued, st.HasIssued = gave.number, gave.known && gave.period == st.Period
	if held, first := s.numbers.Left(); held > 0 {
		st.Following = first
		st.Left += held
	}
	return true
}

// short counts the numbers that a caller's own blocks have left in the refusal of a request for more.
func (m *Member) short(name string, numbers *allocator.Sequence, err error) error {
	if !refusedFor(err, commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED) {
		return err
	}
	held, _ := numbers.Left()
	s, ok := m.fsm.Sequence(name)
	if held == 0 || !ok {
		return err
	}
	return s.Exhausted(s.Remaining + held)
}
