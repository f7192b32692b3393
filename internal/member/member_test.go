package member

import (
	"context"
	"errors"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

func TestCheckpointsFollowEachOther(t *testing.T) {
	m := openOne(t)
	var last uint64
	for i := range 3 {
		if err := m.checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		var index uint64
		m.fsm.View(func(s *fsm.State) { index, _ = s.LastCheckpoint() })
		if index <= last {
			t.Fatalf("checkpoint %d is at index %d, after %d", i, index, last)
		}
		last = index
	}
	if err := m.node.Failure(); err != nil {
		t.Errorf("replicas that agree stopped the member: %v", err)
	}
}

// The leader proposes a command of a newer fsm_version once the version is raised, and not earlier. A new cluster starts
// at the version that its first members know.
func TestProposalOfNewerVersion(t *testing.T) {
	const next = fsm.Version + 1
	propose := func(m *Member) error {
		_, err := m.propose(t.Context(), m.clock.Now().Wall, &commandv1.Command{
			Version: next, Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}},
		})
		return err
	}
	old := openOne(t)
	refused, ok := errors.AsType[*VersionError](propose(old))
	if !ok || *refused != (VersionError{Need: next, Have: old.fsmVersion()}) || old.node.Failure() != nil {
		t.Errorf("propose() = %v, want a VersionError; the member failed with %v", refused, old.node.Failure())
	}
	newer := openOne(t, func(c *Config) { c.Supported, c.Initial = next, fsm.DefaultConfig() })
	if err := propose(newer); err != nil || newer.fsmVersion() != next {
		t.Errorf("propose() = %v at fsm_version %d, want nil at %d", err, newer.fsmVersion(), next)
	}
}

// anyone returns the context of a caller in an open cluster.
func anyone(t testing.TB) context.Context {
	return WithActor(t.Context(), Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN})
}
