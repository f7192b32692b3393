package raftlog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// clean checks that a log is whole and contradicts nothing, and what its terms are.
func clean(t *testing.T, l *raftlog.Log, want ...uint64) {
	t.Helper()
	if len(l.Violations) > 0 || len(l.Incomplete) > 0 {
		t.Errorf("violations: %q, incomplete: %q", l.Violations, l.Incomplete)
	}
	if got := chain(t, l); !slices.Equal(got, want) || l.Final != uint64(len(want)) {
		t.Errorf("up to %d: %v, expected %v", l.Final, got, want)
	}
}

func TestAnOverwrittenTailDropsOut(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 1, 1, 1)...)) // the end was never committed
	r.harvest("n2", dataDir(t, terms(1, 1, 1)...))
	r.harvest("n2", dataDir(t, terms(1, 1, 1, 2, 2)...))
	r.harvest("n3", dataDir(t, terms(1, 1, 1, 2)...))
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 2, 2, 3)...))
	l := r.open()
	clean(t, l, 1, 1, 2, 2)
	if l.FinalTerm != 2 || l.FinalAt != 3 || len(l.Harvests) != 5 {
		t.Errorf("%+v", l)
	}
}

func TestCompactedEntriesAreKept(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	first := r.harvest("n1", dataDir(t, terms(1, 1, 1, 2)...))
	second := r.harvest("n1", dataDir(t, terms(2, 1, 2, 2)...))
	if first.Entries != 3 || second.First != 2 || second.Last != 4 || second.Entries != 3 {
		t.Errorf("%+v, %+v", first, second)
	}
	// What comes after an installed snapshot is connected by it; what was before may stay.
	gap := append(terms(1, 1), terms(5, 3)...)
	dir := dataDir(t, gap...)
	snapshot(t, dir, 4, 2)
	if s := r.harvest("n1", dir); s.Entries != 2 || s.Snapshot() != (raftlog.Snapshot{Index: 4, Term: 2}) {
		t.Errorf("%+v", s)
	}
	clean(t, r.open(), 1, 1, 2, 2, 3)
}

// A tail behind an installed snapshot, which nobody else has.
func TestATailBehindASnapshot(t *testing.T) {
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

func TestMembersThatHaveASnapshotOnly(t *testing.T) {
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
		"nothing":       {want: "nothing that a majority"},
		"the beginning": {terms(2, 1, 1), raftlog.Snapshot{}, "no harvest shows which entry comes before entry 2"},
		"behind a snapshot": {append(terms(1, 1), terms(4, 1)...), raftlog.Snapshot{Index: 3, Term: 1},
			"no harvest has entry 3 of term 1"},
		"the join": {append(terms(1, 1), terms(3, 1)...), raftlog.Snapshot{}, "no harvest shows which entry comes before entry 3"},
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
				t.Errorf("violations %q, incomplete %q", l.Violations, l.Incomplete)
			}
			if got := chain(t, l); len(got) > 0 && got[len(got)-1] != 0 {
				t.Errorf("%v, expected an error at the end", got)
			}
		})
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	other := func(l *raft.Log) *raft.Log { l.Data = []byte("x"); return l }
	for name, c := range map[string]struct {
		first, last []*raft.Log
		snap        raftlog.Snapshot // of the first
		want        string
	}{
		"two entries of one index and term": {
			first: []*raft.Log{other(terms(1, 1)[0])}, last: terms(1, 1), want: "entry 1 of term 1 is of type",
		},
		"two histories of one entry": {
			first: terms(1, 1, 1, 3), last: terms(1, 1, 2, 3), want: "entry 3 of term 3 comes after one of term 1",
		},
		"a replaced snapshot": {
			first: terms(1, 1, 1), last: terms(1, 1, 2), snap: raftlog.Snapshot{Index: 2, Term: 1}, want: "so that was committed",
		},
		"a lost snapshot": {
			first: terms(1, 1, 1), last: terms(1, 1), snap: raftlog.Snapshot{Index: 2, Term: 1}, want: "has nothing after entry 1",
		},
		"terms that go back": {first: terms(1, 2, 1), last: terms(1, 2, 1), want: "the one before it of term 2"},
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
				t.Errorf("%q", l.Violations)
			}
		})
	}
}

// A snapshot that was seen after the others were harvested says nothing against them.
func TestASnapshotBeyondTheLastHarvests(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1)...))
	r.harvest("n2", dataDir(t, terms(1, 1)...))
	dir := dataDir(t, terms(1, 1, 1)...)
	snapshot(t, dir, 2, 1)
	r.harvest("n3", dir)
	if l := r.open(); len(l.Violations) > 0 || len(l.Incomplete) != 1 {
		t.Errorf("violations %q, incomplete %q", l.Violations, l.Incomplete)
	}
}

// Hosts whose members were wiped hold nothing back: of six, three were left behind.
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
