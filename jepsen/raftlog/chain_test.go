package raftlog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// clean checks that a log is complete, has no violation, and has entries of the terms in want.
func clean(t *testing.T, l *raftlog.Log, want ...uint64) {
	t.Helper()
	if len(l.Violations) > 0 || len(l.Incomplete) > 0 {
		t.Errorf("violations %q, incomplete %q, want none", l.Violations, l.Incomplete)
	}
	if got := chain(t, l); !slices.Equal(got, want) || l.Final != uint64(len(want)) {
		t.Errorf("terms up to entry %d = %v, want %v", l.Final, got, want)
	}
}

func TestOverwrittenTailIsOmitted(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 1, 1, 1)...)) // the last three entries were never committed
	r.harvest("n2", dataDir(t, terms(1, 1, 1)...))
	r.harvest("n2", dataDir(t, terms(1, 1, 1, 2, 2)...))
	r.harvest("n3", dataDir(t, terms(1, 1, 1, 2)...))
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 2, 2, 3)...))
	l := r.open()
	clean(t, l, 1, 1, 2, 2)
	if l.FinalTerm != 2 || l.FinalAt != 3 || len(l.Harvests) != 5 {
		t.Errorf("Open() = %+v, want FinalTerm 2, FinalAt 3 and 5 harvests", l)
	}
}

func TestCompactedEntriesAreKept(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	first := r.harvest("n1", dataDir(t, terms(1, 1, 1, 2)...))
	second := r.harvest("n1", dataDir(t, terms(2, 1, 2, 2)...))
	if first.Entries != 3 || second.First != 2 || second.Last != 4 || second.Entries != 3 {
		t.Errorf("harvests = %+v, %+v", first, second)
	}
	// An installed snapshot connects the entries after it. Entries before the snapshot may stay in the log.
	gap := append(terms(1, 1), terms(5, 3)...)
	dir := dataDir(t, gap...)
	snapshot(t, dir, 4, 2)
	if s := r.harvest("n1", dir); s.Entries != 2 || s.Snapshot() != (raftlog.Snapshot{Index: 4, Term: 2}) {
		t.Errorf("harvest = %+v, want 2 entries and a snapshot up to entry 4", s)
	}
	clean(t, r.open(), 1, 1, 2, 2, 3)
}

// TestTailAfterSnapshot has a member with an installed snapshot and a later entry that no other member has.
func TestTailAfterSnapshot(t *testing.T) {
	t.Parallel()
	for _, before := range [][]*raft.Log{nil, terms(1, 1)} {
		r := newRun(t)
		dir := dataDir(t, append(before, terms(5, 3)...)...)
		snapshot(t, dir, 4, 2)
		r.harvest("n1", dir)
		r.harvest("n2", dataDir(t, terms(1, 1, 1, 2, 2, 2)...))
		clean(t, r.open(), 1, 1, 2, 2)
	}
}

func TestMembersWithOnlyASnapshot(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 2)...))
	for _, member := range []string{"n2", "n3"} {
		dir := dataDir(t)
		snapshot(t, dir, 2, 1)
		r.harvest(member, dir)
	}
	clean(t, r.open(), 1, 1)
}

func TestGaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logs []*raft.Log
		snap raftlog.Snapshot
		want string
	}{
		"nothing":       {want: "no entry is in the last harvests of a majority"},
		"the beginning": {terms(2, 1, 1), raftlog.Snapshot{}, "no harvest shows the term of the entry before entry 2"},
		"after a snapshot": {append(terms(1, 1), terms(4, 1)...), raftlog.Snapshot{Index: 3, Term: 1},
			"no harvest has entry 3 of term 1"},
		"the join": {append(terms(1, 1), terms(3, 1)...), raftlog.Snapshot{}, "no harvest shows the term of the entry before entry 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			dir := dataDir(t, c.logs...)
			if c.snap.Index > 0 {
				snapshot(t, dir, c.snap.Index, c.snap.Term)
			}
			r.harvest("n1", dir)
			l := r.open()
			if len(l.Violations) > 0 || len(l.Incomplete) == 0 || !strings.Contains(l.Incomplete[0], c.want) {
				t.Errorf("violations %q, incomplete %q, want none and %q", l.Violations, l.Incomplete, c.want)
			}
			if got := chain(t, l); len(got) > 0 && got[len(got)-1] != 0 {
				t.Errorf("entries of terms %v, want an error at the end", got)
			}
		})
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	other := func(l *raft.Log) *raft.Log { l.Data = []byte("x"); return l }
	for name, c := range map[string]struct {
		first, last []*raft.Log
		snap        raftlog.Snapshot // snapshot in the first harvest
		want        string
	}{
		"two entries of one index and term": {
			first: []*raft.Log{other(terms(1, 1)[0])}, last: terms(1, 1), want: "entry 1 of term 1 has type",
		},
		"two histories of one entry": {
			first: terms(1, 1, 1, 3), last: terms(1, 1, 2, 3), want: "entry 3 of term 3 follows an entry of term 1",
		},
		"a replaced snapshot": {
			first: terms(1, 1, 1), last: terms(1, 1, 2), snap: raftlog.Snapshot{Index: 2, Term: 1}, want: "in the final log it has term 2",
		},
		"a lost snapshot": {
			first: terms(1, 1, 1), last: terms(1, 1), snap: raftlog.Snapshot{Index: 2, Term: 1},
			want: "the final log of a majority ends at entry 1",
		},
		"terms that decrease": {first: terms(1, 2, 1), last: terms(1, 2, 1), want: "follows an entry of term 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			dir := dataDir(t, c.first...)
			if c.snap.Index > 0 {
				snapshot(t, dir, c.snap.Index, c.snap.Term)
			}
			r.harvest("n1", dir)
			r.harvest("n1", dataDir(t, c.last...))
			l := r.open()
			if len(l.Violations) != 1 || !strings.Contains(l.Violations[0], c.want) {
				t.Errorf("violations %q, want one with %q", l.Violations, c.want)
			}
		})
	}
}

// TestSnapshotAfterLastHarvests has a snapshot that is newer than the last harvests of the other members, so it contradicts
// none of them.
func TestSnapshotAfterLastHarvests(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1)...))
	r.harvest("n2", dataDir(t, terms(1, 1)...))
	dir := dataDir(t, terms(1, 1, 1)...)
	snapshot(t, dir, 2, 1)
	r.harvest("n3", dir)
	if l := r.open(); len(l.Violations) > 0 || len(l.Incomplete) != 1 {
		t.Errorf("violations %q, incomplete %q, want none and one", l.Violations, l.Incomplete)
	}
}

// TestAbsentMembersDoNotCount has six members, of which the three with the shorter logs are wiped. The other three decide.
func TestAbsentMembersDoNotCount(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	for _, name := range []string{"n4", "n5", "n6"} {
		r.harvest(name, dataDir(t, terms(1, 1)...))
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		r.harvest(name, dataDir(t, terms(1, 1, 1, 1)...))
	}
	for at, name := range []string{"n4", "n5", "n6"} {
		if err := r.Absent(name, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	clean(t, r.open(), 1, 1, 1)
}
