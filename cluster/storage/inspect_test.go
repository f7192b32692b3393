package storage

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func inspect(t *testing.T, dir string) *Inspection {
	t.Helper()
	in, err := Inspect(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestInspectReadsAllAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := fill(t)
	addSnapshots(t, s)
	join(t, s.dir)
	for _, name := range []string{watermarkFile, seedingFile, "halt.json", "running"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, s.dir)
	in := inspect(t, s.dir)
	if len(in.Problems) > 0 || in.ClusterID != testCluster || in.MemberID == "" || in.LastTerm != 8 || in.CurrentTerm != 8 || in.VotedTerm != 8 ||
		in.VotedFor == "" || in.LastIndex != 600 || in.Entries["LogCommand"] != int(in.LastIndex-in.FirstIndex+1) || in.Pages == 0 {
		t.Errorf("Inspect() = %+v", in)
	}
	if len(in.Snapshots) != len(s.snapshots) || in.Snapshots[0].Problem != nil || in.Snapshots[0].Bytes == 0 {
		t.Errorf("snapshots: %+v", in.Snapshots)
	}
	if in.Usage.FreeBytes == 0 || in.Usage.TotalBytes < in.Usage.FreeBytes || in.Usage.Others != 0 || len(in.Usage.Files) != len(before) {
		t.Errorf("usage: %+v of %d files", in.Usage, len(before))
	}
	if after := files(t, s.dir); !reflect.DeepEqual(before, after) {
		t.Error("the directory changed")
	}
}

func TestInspectContinuesAfterDamage(t *testing.T) {
	t.Parallel()
	s := fill(t)
	addSnapshots(t, s)
	join(t, s.dir)
	log := filepath.Join(s.dir, logFile)
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, raw[:len(raw)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	states, err := filepath.Glob(filepath.Join(s.dir, snapshotDir, "*", "state.bin"))
	if err != nil || len(states) == 0 {
		t.Fatal(states, err)
	}
	for _, path := range states {
		if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "secret of the operator"), []byte("xxx"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := inspect(t, s.dir)
	if len(in.Problems) != 1 || !strings.Contains(in.Problems[0].Error(), logFile) || in.ClusterID != testCluster {
		t.Errorf("Inspect() = %+v", in)
	}
	for _, snap := range in.Snapshots {
		if snap.Problem == nil || snap.Index == 0 {
			t.Errorf("snapshot %+v", snap)
		}
	}
	if in.Usage.Others != 1 || in.Usage.OtherBytes != 3 {
		t.Errorf("usage: %+v", in.Usage)
	}
}

func TestInspectRefusesOtherDirectories(t *testing.T) {
	t.Parallel()
	if _, err := Inspect(t.TempDir(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "not the data directory of a member") {
		t.Errorf("Inspect() = %v", err)
	}
	id := mustOpen(t, t.TempDir()) // runs
	if _, err := Inspect(id.dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("Inspect() = %v", err)
	}
}
