package member

import (
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// Two administrators at once do not undo one another unseen: the request of the second was about
// the state before the change of the first.
func TestAdministratorsDoNotUndoOneAnother(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	refused := func(what string, cmd *commandv1.Command) {
		t.Helper()
		if _, err := m.propose(t.Context(), m.clock.Now().Wall, cmd); !refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH) {
			t.Errorf("%s: %v", what, err)
		}
	}
	deletion, err := m.deletion(t.Context(), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Sequence(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	creation, err := m.creation(&commandv1.CreateSequence{Spec: s.Spec, Force: true}, false, m.clock.Now().Wall)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.UpdateSequence(t.Context(), "s", Update{Next: new(int64(5000))}); err != nil {
		t.Fatal(err)
	}
	refused("deleted after it was set", deletion)
	if _, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DeleteSequence(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	refused("created by force over what was deleted meanwhile", creation)
	if _, err := m.CreateSequence(t.Context(), s.Spec, Force{Numbers: true}); err != nil {
		t.Error(err)
	}
}

// The proposer checks the form of a new name, because replicas may have other Unicode tables.
func TestNewSequenceNeedsANormalizedName(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "caf\u00e9")
	s, err := m.Sequence(t.Context(), "caf\u00e9")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cafe\u0301", "\ue000", "$cafe", "a\u200b"} {
		spec := proto.CloneOf(s.Spec)
		spec.Name = name
		if _, err := m.CreateSequence(t.Context(), spec, Force{Numbers: true}); !refusedFor(err, commandv1.Refusal_REFUSAL_INVALID_ARGUMENT) {
			t.Errorf("CreateSequence(%+q) = %v, want REFUSAL_INVALID_ARGUMENT", name, err)
		}
	}
	m.fsm.View(func(s *fsm.State) {
		if n := s.SequenceCount(); n != 1 {
			t.Errorf("%d sequences, want 1", n)
		}
	})
}

func TestFormatThatRepeatsTextsIsRefused(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	update := func(format string, force Force) error {
		_, err := m.UpdateSequence(t.Context(), "s", Update{Edit: func(s *commandv1.SequenceSpec) error { s.Format = format; return nil }, Force: force})
		return err
	}
	for _, step := range []struct {
		format  string
		force   Force
		refused bool
	}{
		{"{seq:base62}", Force{}, true}, // 10 was the tenth number, and would be the 62nd
		{"1{seq}", Force{}, true},
		{"{seq:06}", Force{}, false},
		{"A{seq}", Force{}, false},
		{"A1{seq}", Force{}, true},
		{"A1{seq}", Force{Numbers: true}, true},
		{"A1{seq}", Force{Format: true}, false},
	} {
		if err := update(step.format, step.force); refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) != step.refused || !step.refused && err != nil {
			t.Errorf("%+v: %v", step, err)
		}
	}
}
