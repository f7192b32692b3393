package member

import (
	"errors"
	"fmt"
	"math"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
)

// recreate deletes a sequence, lets the member forget it, and creates it again.
func recreate(t *testing.T, m *Member, spec *commandv1.SequenceSpec) {
	t.Helper()
	if _, err := m.DeleteSequence(t.Context(), spec.GetName(), nil); err != nil {
		t.Fatal(err)
	}
	lt := m.leaderTerm.Load()
	for i := range manyGone(0) + 1 {
		lt.sequence(fmt.Sprint("gone ", i), 1<<40+uint64(i))
	}
	m.sweep()
	if _, err := m.Counter(t.Context(), spec.GetName()); !errors.As(err, new(*UnknownSequenceError)) {
		t.Fatalf("Counter() of a deleted sequence = %v", err)
	}
	if _, err := m.CreateSequence(t.Context(), spec, Force{}); err != nil {
		t.Fatal(err)
	}
}

// A call that found the strict sequence of an incarnation issues nothing of the next one. Otherwise two strict sequences would
// have blocks of it, and smaller numbers would follow greater ones.
func TestStrictNumbersOfOneIncarnation(t *testing.T) {
	for name, ask := range map[string]func(s *strictSequence) (int64, error){
		"next": func(s *strictSequence) (int64, error) {
			n, err := s.next(t.Context(), 1)
			return n.First, err
		},
		"record": func(s *strictSequence) (int64, error) {
			n, err := s.record(anyone(t), 1, "r")
			return n.First, err
		},
		"last": func(s *strictSequence) (int64, error) {
			n, _, err := s.last(t.Context())
			return n, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := openOne(t)
			createStrict(t, m, "s")
			spec, err := m.Sequence(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			held := strictOf(t, m.leaderTerm.Load(), "s")
			recreate(t, m, spec.Spec)
			if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 1 {
				t.Fatalf("the first number = %d, %v", n.First, err)
			}
			got, err := ask(held)
			if !errors.Is(err, allocator.ErrOutdatedBlock) {
				t.Errorf("of the earlier incarnation = %d, %v, want ErrOutdatedBlock", got, err)
			}
			if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 2 {
				t.Errorf("the next number = %d after %d was returned, %v", n.First, got, err)
			}
		})
	}
}

// The numbers of a relaxed sequence ascend on each member, also if calls from before its deletion end after its creation.
func TestRelaxedNumbersOfOneIncarnation(t *testing.T) {
	m := openOne(t)
	spec := &commandv1.SequenceSpec{
		Name: "s", Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100,
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}
	if _, err := m.CreateSequence(t.Context(), spec, Force{}); err != nil {
		t.Fatal(err)
	}
	held, err := m.Counter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	recreate(t, m, spec)
	if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 1 {
		t.Fatalf("the first number = %d, %v", n.First, err)
	}
	got, err := held.Next(t.Context(), 1)
	if !errors.Is(err, allocator.ErrOutdatedBlock) {
		t.Errorf("of the earlier incarnation = %d, %v, want ErrOutdatedBlock", got.First, err)
	}
	if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 2 {
		t.Errorf("the next number = %d after %d was returned, %v", n.First, got.First, err)
	}
}

// A lookup that found no sequence removes no counter that a later creation may share.
func TestCounterOfAnExistingSequenceStays(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	before, err := m.Counter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	m.counters.remove("s", m.exists)
	if after, err := m.Counter(t.Context(), "s"); err != nil || after.own != before.own {
		t.Errorf("another counter, %v", err)
	}
}
