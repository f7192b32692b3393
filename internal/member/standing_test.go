package member

import (
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// five returns the specification of a sequence from 1 to 5. All its numbers are in the first block.
func five(name string, mode commandv1.SequenceMode) *commandv1.SequenceSpec {
	return &commandv1.SequenceSpec{
		Name: name, Start: 1, Increment: 1, Min: 1, Max: 5, Mode: mode, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100,
		Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}
}

// stands compares what a member knows of a sequence.
func stands(t *testing.T, m *Member, name, when string, want Standing) {
	t.Helper()
	s, err := m.Sequence(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	want.Sequence = s
	if got := m.Standing(s); got != want {
		t.Errorf("%s: %+v, want %+v", when, got, want)
	}
}

// The leader counts what can still be issued of a strict sequence, and not what was granted. Each refusal has that count.
func TestWhatIsLeftOfAStrictSequence(t *testing.T) {
	m := openOne(t)
	created, err := m.CreateSequence(t.Context(), five("s", commandv1.SequenceMode_SEQUENCE_MODE_STRICT), Force{})
	if err != nil || created.Existed() {
		t.Fatalf("the first creation existed: %t, %v", created.Existed(), err)
	}
	stands(t, m, "s", "created", Standing{Exact: true, Following: 1, Left: 5})
	if _, err := m.NextAtLeader(t.Context(), "s", 3, ""); err != nil {
		t.Fatal(err)
	}
	stands(t, m, "s", "after 3", Standing{Exact: true, Issued: 3, HasIssued: true, Following: 4, Left: 2})
	if again, err := m.CreateSequence(t.Context(), five("s", commandv1.SequenceMode_SEQUENCE_MODE_STRICT), Force{}); err != nil || !again.Existed() {
		t.Errorf("created again: existed %t, %v", again.Existed(), err)
	}
	for _, step := range []struct {
		left string
		more uint64
	}{{"2 numbers are left", 1}, {"1 number is left", 1}, {"0 numbers are left", 0}} {
		if _, err := m.NextAtLeader(t.Context(), "s", 3, ""); !refusedFor(err, commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED) || !strings.Contains(err.Error(), step.left+" before its maximum 5") {
			t.Errorf("three more: %v, want %s", err, step.left)
		}
		if step.more > 0 {
			if _, err := m.NextAtLeader(t.Context(), "s", step.more, ""); err != nil {
				t.Errorf("after %q: %v", step.left, err)
			}
		}
	}
	stands(t, m, "s", "at the end", Standing{Exact: true, Issued: 5, HasIssued: true})
	if _, err := m.UpdateSequence(t.Context(), "s", Update{Next: new(int64(2)), Force: Force{Numbers: true}}); err != nil {
		t.Fatal(err)
	}
	stands(t, m, "s", "set back", Standing{Exact: true, Following: 2, Left: 4})
	m.leaderTerm.Store(nil)
	stands(t, m, "s", "at a follower", Standing{Following: 2, Left: 4})
}

// Members issue relaxed numbers from blocks, so the replica knows only what they cannot exceed.
func TestWhatIsLeftOfARelaxedSequence(t *testing.T) {
	m := openOne(t)
	if _, err := m.CreateSequence(t.Context(), five("s", commandv1.SequenceMode_SEQUENCE_MODE_RELAXED), Force{}); err != nil {
		t.Fatal(err)
	}
	stands(t, m, "s", "created", Standing{Following: 1, Left: 5})
	c, err := m.Counter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	stands(t, m, "s", "after 3", Standing{Issued: 5, HasIssued: true})
	if _, err := c.Next(t.Context(), 3); !refusedFor(err, commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED) || !strings.Contains(err.Error(), "2 numbers are left") {
		t.Errorf("three more: %v", err)
	}
}

// A new description leaves no gap: the leader and the other members keep their blocks.
func TestDescriptionLeavesNoGap(t *testing.T) {
	for _, mode := range []commandv1.SequenceMode{commandv1.SequenceMode_SEQUENCE_MODE_STRICT, commandv1.SequenceMode_SEQUENCE_MODE_RELAXED} {
		m := openOne(t)
		if _, err := m.CreateSequence(t.Context(), five("s", mode), Force{}); err != nil {
			t.Fatal(err)
		}
		for want := range int64(3) {
			if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 1+want {
				t.Errorf("%v: the next number = %d, %v, want %d", mode, n.First, err, 1+want)
			}
			if _, err := m.UpdateSequence(t.Context(), "s", Update{Edit: func(s *commandv1.SequenceSpec) error { s.Description += "."; return nil }}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
