package raftlog_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// TestRestoredLife restores a cluster. The log of its second life must begin at the index of the restored state.
func TestRestoredLife(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 2)...))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	const index = 1 << 40
	state := fsm.NewState()
	if err := state.Restore(fsm.Restoration{Index: index, NowMillis: 1, OldCluster: "old", OldEndedMillis: 1000}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	node, err := storage.Seed{
		Cluster: "new", Index: index, Term: 3, State: state, Address: func(node string) string { return node + "@0.0.0.0:0" },
	}.Create(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if r.Archive, err = raftlog.CreateRestored(r.dir, 2, dir); err != nil {
		t.Fatal(err)
	}
	entries := dataDir(t, terms(index+1, 4, 4, 5)...)
	snapshot(t, entries, index, 3)
	r.harvest("n1", entries)
	r.harvest("n2", entries)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	if l, err := raftlog.Open(r.dir, 1); err != nil || l.Final != 3 || l.Base != (raftlog.Snapshot{}) {
		t.Errorf("first life: %+v, %v", l, err)
	}
	l, err := raftlog.Open(r.dir, 2)
	if err != nil || l.Base != (raftlog.Snapshot{Index: index, Term: 3}) || l.Final != index+3 || len(l.Violations)+len(l.Incomplete) > 0 || !slices.Equal(l.Voters, []string{node}) {
		t.Fatalf("second life: %+v, %v", l, err)
	}
	var got []uint64
	for e, err := range l.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Index, e.Term)
	}
	if !slices.Equal(got, []uint64{index + 1, 4, index + 2, 4, index + 3, 5}) {
		t.Errorf("indexes and terms = %v", got)
	}
	if known, err := l.Beginning(); err != nil || known.FloorMillis != state.Restored().GetFloorAtMs() || len(known.Sequences) != 0 || known.Config != nil {
		t.Errorf("Beginning() = %+v, %v", known, err)
	}
	if _, err := raftlog.CreateRestored(r.dir, 3, t.TempDir()); err == nil {
		t.Error("CreateRestored() of an empty directory succeeded")
	}
}

// TestRestoredLifeRejectsOldEntries adds an entry of the old cluster to the log of the restored cluster.
func TestRestoredLifeRejectsOldEntries(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	state := fsm.NewState()
	if err := state.Restore(fsm.Restoration{Index: 1 << 40, NowMillis: 1, OldCluster: "old", OldEndedMillis: 1000}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := storage.Seed{
		Cluster: "new", Index: 1 << 40, Term: 3, State: state, Address: func(node string) string { return node + "@0.0.0.0:0" },
	}.Create(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if r.Archive, err = raftlog.CreateRestored(r.dir, 2, dir); err != nil {
		t.Fatal(err)
	}
	r.harvest("n1", dataDir(t, terms(7, 1)...))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raftlog.Open(r.dir, 2); err == nil {
		t.Error("Open() accepted entry 7 in a life that begins at entry 2^40")
	}
}
