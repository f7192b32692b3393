package fsm

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// sampleRestored is a state with something of everything that a restored cluster has: a worker from before the restore
// and one since, sequences that are frozen, resumed and deleted, one with nothing left, a disabled token.
func sampleRestored(t testing.TB) *State {
	t.Helper()
	l := newLog(t, tiny)
	for _, name := range []string{"daily", "spent"} {
		l.must(create(plain(name, resetting(resetDaily)), 20250101))
		l.take(name, 5, 20250101)
	}
	for _, name := range []string{"frozen", "gone", "resumed"} {
		l.must(create(plain(name), 0))
		l.take(name, 10, 0)
	}
	l.must(remove("gone"))
	l.must(at(epoch, acquire("a/0", 2000)))
	l.token("app", "ids:issue:*")
	if err := l.Restore(Restoration{
		Index: uint64(epoch+200_000_000) / 1000 << 20, NowMillis: epoch + 200_000_000, OldCluster: "old",
		OldMembers:     []*commandv1.OldMember{{Id: "b", Name: "b", RaftAddress: "b:7000"}, {Id: "a"}},
		OldEndedMillis: epoch + 100_000_000, ZonesKept: true, Period: periodOf,
	}); err != nil {
		t.Fatal(err)
	}
	l.index = l.Restored().GetIndex()
	l.must(resume("resumed", l.seq("resumed").Generation, new(int64(50)), 3))
	l.must(resume("spent", l.seq("spent").Generation, nil, 0))
	l.must(at(epoch+200_000_000, acquire("b/0", 2000)))
	return l.State
}

// TestDigestCoversRestored changes one thing at a time.
func TestDigestCoversRestored(t *testing.T) {
	seen := map[[32]byte]string{sampleRestored(t).Digest(): "the sample"}
	for name, edit := range map[string]func(*State){
		"floor":     func(s *State) { s.restored.FloorAtMs++ },
		"index":     func(s *State) { s.restored.Index++ },
		"at":        func(s *State) { s.restored.RestoredAtMs++ },
		"ancestors": func(s *State) { s.restored.Ancestors[0] += "x" },
		"names":     func(s *State) { s.restored.NamesClosed = false },
		"address":   func(s *State) { s.restored.OldMembers[0].RaftAddress += "0" },
		"ended":     func(s *State) { s.restored.Superseded = []string{"old"} },
		"all":       func(s *State) { s.restored = nil },
		"disabled":  func(s *State) { s.tokens.byID[0].Disabled = false },
		"spent":     func(s *State) { q, _ := s.sequences.live.Get("daily"); q.spent = false },
	} {
		s := sampleRestored(t)
		edit(s)
		if other, ok := seen[s.Digest()]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[s.Digest()] = name
	}
}

// TestSnapshotRefusesRestoresThatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesRestoresThatNoStateWrites(t *testing.T) {
	data := snapshotBytes(t, sampleRestored(t))
	type records = []*commandv1.SnapshotRecord
	find := func(r records, is func(*commandv1.SnapshotRecord) bool) *commandv1.SnapshotRecord {
		for _, record := range r {
			if is(record) {
				return record
			}
		}
		t.Fatal("the sample lacks the record")
		return nil
	}
	restored := func(edit func(*commandv1.Restored)) func(records) {
		return func(r records) { edit(r[0].GetMeta().GetRestored()) }
	}
	sequence := func(name string, edit func(*commandv1.SnapshotSequence)) func(records) {
		return func(r records) {
			edit(find(r, func(r *commandv1.SnapshotRecord) bool { return r.GetSequence().GetSpec().GetName() == name }).GetSequence())
		}
	}
	worker := func(number uint64, edit func(*commandv1.SnapshotWorker)) func(records) {
		return func(r records) {
			w := find(r, func(r *commandv1.SnapshotRecord) bool {
				return r.GetWorker() != nil && r.GetWorker().GetWorker() == number
			})
			edit(w.GetWorker())
		}
	}
	for name, edit := range map[string]func(r records){
		"no floor":                  restored(func(m *commandv1.Restored) { m.FloorAtMs = 0 }),
		"a floor after all time":    restored(func(m *commandv1.Restored) { m.FloorAtMs = math.MaxInt64 }),
		"no index":                  restored(func(m *commandv1.Restored) { m.Index = 0 }),
		"an index beyond Raft's":    restored(func(m *commandv1.Restored) { m.Index = math.MaxUint64 }),
		"no time":                   restored(func(m *commandv1.Restored) { m.RestoredAtMs = 0 }),
		"no ancestor":               restored(func(m *commandv1.Restored) { m.Ancestors = nil }),
		"an ancestor without ID":    restored(func(m *commandv1.Restored) { m.Ancestors = []string{""} }),
		"an ancestor twice":         restored(func(m *commandv1.Restored) { m.Ancestors = []string{"old", "old"} }),
		"too many ancestors":        restored(func(m *commandv1.Restored) { m.Ancestors = make([]string, maxAncestors+1) }),
		"a cluster ended twice":     restored(func(m *commandv1.Restored) { m.Superseded = []string{"old", "old"} }),
		"too many clusters ended":   restored(func(m *commandv1.Restored) { m.Superseded = make([]string, maxSuperseded+1) }),
		"members out of order":      restored(func(m *commandv1.Restored) { slices.Reverse(m.OldMembers) }),
		"a member without ID":       restored(func(m *commandv1.Restored) { m.OldMembers[0].Id = "" }),
		"a control character":       restored(func(m *commandv1.Restored) { m.OldMembers[0].RaftAddress = "\x1b" }),
		"a long address":            restored(func(m *commandv1.Restored) { m.OldMembers[0].RaftAddress = strings.Repeat("a", 600) }),
		"too many members":          restored(func(m *commandv1.Restored) { m.OldMembers = make([]*commandv1.OldMember, maxOldMembers+1) }),
		"a claim from before":       worker(0, func(w *commandv1.SnapshotWorker) { w.Released = false }),
		"a window below the floor":  worker(1, func(w *commandv1.SnapshotWorker) { w.FromTick-- }),
		"a frozen block":            sequence("frozen", func(q *commandv1.SnapshotSequence) { q.LastToken, q.LastKeyHash = 1<<50, returnKeyHash }),
		"nothing left, and a hull":  sequence("resumed", func(q *commandv1.SnapshotSequence) { q.Spent = true }),
		"resumed with a small hull": sequence("spent", func(q *commandv1.SnapshotSequence) { q.High = new(int64(5)) }),
		"deleted with nothing left": sequence("gone", func(q *commandv1.SnapshotSequence) { q.Spent, q.Generation = true, 1<<60 }),
		"spent in no restored cluster": func(r records) {
			r[0].GetMeta().Restored = nil
		},
		"an empty restore": func(r records) { r[0].GetMeta().Restored = &commandv1.Restored{} },
	} {
		edited := reseal(t, data, func(r records) records { edit(r); return r })
		if s, err := ReadState(bytes.NewReader(edited), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}

// A snapshot shares the record of the restore with the state, which replaces the record and never changes it.
func TestSnapshotKeepsClosedNames(t *testing.T) {
	s := sampleRestored(t)
	im := s.imageAlone()
	before := proto.CloneOf(s.Restored())
	if r := s.Apply(s.index+1, 1, acknowledge(s.Restored().GetIndex())); r.Err != nil {
		t.Fatal(r.Err)
	}
	if !proto.Equal(im.meta.GetRestored(), before) || s.Restored().GetNamesClosed() {
		t.Errorf("the snapshot has %v, the state %v", im.meta.GetRestored(), s.Restored())
	}
}
