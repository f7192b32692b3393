package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func superseding(id string) *commandv1.Command {
	return &commandv1.Command{Version: livesVersion, Body: &commandv1.Command_Supersede{Supersede: &commandv1.Supersede{Cluster: id}}}
}

// A restored cluster records the clusters that operators ended, and keeps the record over a further restore.
func TestSupersede(t *testing.T) {
	t.Parallel()
	s := NewState()
	s.version = livesVersion
	if err := s.Apply(6, 1, superseding("old")).Failure(); err == nil {
		t.Error("a cluster that was not restored supersedes another")
	}
	s = sampleRestored(t)
	before := s.Restored()
	for range 2 {
		if err := s.Apply(s.index+1, 1, superseding("old")).Failure(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Restored().GetSuperseded(); len(got) != 1 || got[0] != "old" || len(before.GetSuperseded()) != 0 {
		t.Errorf("superseded %q, before %q", got, before.GetSuperseded())
	}
	for _, id := range []string{"", "\x1b"} {
		if err := s.Apply(s.index+1, 1, superseding(id)).Failure(); err == nil {
			t.Errorf("cluster %q is superseded", id)
		}
	}
	for s.restored.Superseded = nil; len(s.restored.Superseded) < maxSuperseded; {
		s.restored.Superseded = append(s.restored.Superseded, "x")
	}
	if err := s.Apply(s.index+1, 1, superseding("new")).Failure(); err == nil {
		t.Error("a cluster beyond the limit is superseded")
	}
	s = sampleRestored(t)
	s.restored.Superseded = []string{"older"}
	if err := s.Restore(Restoration{Index: s.index + indexGap, NowMillis: epoch + 300_000_000, OldCluster: "new", ZonesKept: true, Period: periodOf}); err != nil {
		t.Fatal(err)
	}
	if got := s.Restored(); len(got.GetSuperseded()) != 1 || len(got.GetOldMembers()) != 0 {
		t.Errorf("after a further restore: %v", got)
	}
}
