package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func openTestStore(t *testing.T, dir string, reported *[]error) (*Store, *Identity, error) {
	t.Helper()
	id := mustOpen(t, dir)
	t.Cleanup(func() { _ = id.Close() })
	s, err := Open(id, slog.New(slog.DiscardHandler), func(err error) { *reported = append(*reported, err) })
	return s, id, err
}

// Open itself detects the damage, although nothing reads a snapshot or the vote before an election.
func TestOpenReadsAllThatIsStored(t *testing.T) {
	vote := func(key string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			bolt := openUnsynced(t, filepath.Join(dir, logFile), false)
			value, err := bolt.Get([]byte(key))
			if err != nil {
				t.Fatal(err)
			}
			value = bytes.Clone(value)
			value[7] ^= 1
			if err := errors.Join(bolt.Set([]byte(key), value), bolt.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(name string, change func(raw []byte)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			found, err := filepath.Glob(filepath.Join(dir, name))
			if err != nil || len(found) == 0 {
				t.Fatalf("%s: %q, %v", name, found, err)
			}
			raw, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			change(raw)
			if err := os.WriteFile(found[0], raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, dir string){
		"term":             vote("CurrentTerm"),
		"term of the vote": vote("LastVoteTerm"),
		"vote":             vote("LastVoteCand"),
		"older snapshot":   file("snapshots/*-400-*/state.bin", func(raw []byte) { raw[len(raw)/2] ^= 0x40 }),
		"newer snapshot":   file("snapshots/*-500-*/state.bin", func(raw []byte) { raw[len(raw)/2] ^= 0x40 }),
		"voters":           file("snapshots/*-500-*/meta.json", func(raw []byte) { raw[bytes.Index(raw, []byte("x:1"))] ^= 0x40 }),
		"zeroes":           file(logFile, func(raw []byte) { clear(raw[2*os.Getpagesize():]) }), // behind the two meta pages
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fill(t)
			addSnapshots(t, s)
			damage(t, s.dir)
			_, _, err := openTestStore(t, s.dir, new([]error))
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Errorf("Open() = %v, want a CorruptError", err)
			}
		})
	}
}

// bbolt itself would continue with the older metadata page, and undo the last vote.
func TestDamagedMetaPageIsDetected(t *testing.T) {
	for page := range 2 {
		dir := t.TempDir()
		var reported []error
		s, id, err := openTestStore(t, dir, &reported)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"CurrentTerm", "LastVoteTerm"} {
			if err := s.Stable.SetUint64([]byte(key), 7); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Close(), id.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, logFile)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[page*os.Getpagesize()+boltPageHeader+40] ^= 1
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = openTestStore(t, dir, &reported)
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Errorf("page %d: %v", page, err)
		}
	}
}

// Raft keeps the entries from before the leader's snapshot, and stores the entries behind it. The missing entries in between are
// not needed.
func TestLogGoesOnBehindASnapshotOfTheLeader(t *testing.T) {
	held := &stored{dir: t.TempDir()}
	var reported []error
	store := func(i uint64) error {
		s, id, err := openTestStore(t, held.dir, &reported)
		if err != nil {
			return err
		}
		return errors.Join(s.Logs.StoreLog(entry(i, 6, "x")), s.Close(), id.Close())
	}
	if err := errors.Join(store(1), store(2)); err != nil {
		t.Fatal(err)
	}
	addSnapshots(t, held) // the newest goes up to 500
	if err := errors.Join(store(501), store(502)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // the storing goroutine ends, because raft would continue
		defer close(done)
		t.Errorf("StoreLog() of entry 504 returned %v, want no return", store(504))
	}()
	<-done
	if len(reported) != 1 {
		t.Fatalf("reported %v, want one error: entry 503 is missing, and in no snapshot", reported)
	}
	if _, ok := errors.AsType[*CorruptError](reported[0]); !ok {
		t.Error(reported)
	}
}

// Raft panics if entries are missing at its start.
func TestOpenDetectsMissingSnapshot(t *testing.T) {
	for kept, want := range []bool{false, true, true} {
		s := fill(t)
		addSnapshots(t, s)
		dirs, err := filepath.Glob(filepath.Join(s.dir, snapshotDir, "*"))
		if err != nil || len(dirs) != 2 {
			t.Fatal(dirs, err)
		}
		for _, gone := range dirs[kept:] { // the older one comes first and goes up to 400
			if err := os.RemoveAll(gone); err != nil {
				t.Fatal(err)
			}
		}
		s.snapshots = s.snapshots[:kept]
		err = s.open()
		if want != (err == nil) {
			t.Errorf("Open() with %d of 2 snapshots = %v", kept, err)
		}
		if !want && (!strings.Contains(fmt.Sprint(err), "a snapshot is missing") || !strings.Contains(fmt.Sprint(err), "start again with an empty one")) {
			t.Errorf("Open() = %v, want instructions", err)
		}
	}
}

// TestCorruptReadIsReportedOnce reads a damaged entry as Raft does: the call ends its goroutine.
func TestCorruptReadIsReportedOnce(t *testing.T) {
	t.Parallel()
	var reported []error
	in := raft.NewInmemStore()
	stores := Stores{Logs: in, Stable: in, Snapshots: raft.NewInmemSnapshotStore()}
	s, err := Guard(stores, mustOpen(t, t.TempDir()), func(err error) { reported = append(reported, err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := in.StoreLog(entry(1, 1, "an entry without a checksum")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.Errorf("GetLog() = %v, want no return", s.Logs.GetLog(1, new(raft.Log)))
	}()
	<-done
	if len(reported) != 1 {
		t.Fatalf("reported %v, want one error", reported)
	}
	if _, ok := errors.AsType[*CorruptError](reported[0]); !ok {
		t.Errorf("reported %v, want a CorruptError", reported[0])
	}
}

// brokenStore is a disk that accepts no writes.
type brokenStore struct{ *raft.InmemStore }

var errFull = errors.New("no space left on device")

func (brokenStore) StoreLogs([]*raft.Log) error      { return errFull }
func (brokenStore) DeleteRange(uint64, uint64) error { return errFull }
func (brokenStore) Set([]byte, []byte) error         { return errFull }

func TestFailedWritesHaltTheMember(t *testing.T) {
	var reported []error
	report := func(err error) { reported = append(reported, err) }
	broken := brokenStore{raft.NewInmemStore()}
	logs := &checkedLog{LogStore: broken, path: "x", corrupt: report, stored: func() error { t.Error("stored"); return nil }}
	stable := &checkedStable{StableStore: broken, path: "x", corrupt: report, stored: func() error { t.Error("stored"); return nil }}
	for i, write := range []func() error{
		func() error { return logs.StoreLog(entry(1, 1, "a")) },
		func() error { return logs.DeleteRange(1, 2) },
		func() error { return stable.SetUint64([]byte("CurrentTerm"), 1) },
	} {
		err := write()
		if _, ok := errors.AsType[*DiskError](err); !ok || !errors.Is(err, errFull) || len(reported) != i+1 {
			t.Errorf("write %d: %v, reported %d times", i, err, len(reported))
		}
	}
}

// reopen closes a store and opens its directory again.
func reopen(t *testing.T, dir string, s *Store, id *Identity) (*Store, *Identity, error) {
	t.Helper()
	if err := errors.Join(s.Close(), id.Close()); err != nil {
		t.Fatal(err)
	}
	return openTestStore(t, dir, new([]error))
}

// A store without a term is not lost: raft stores a term of 0 as soon as it starts.
func TestStoreWithoutTermIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		remembered func(*Identity) // records of an earlier start
		lost       bool
	}{
		"nothing":                   {func(*Identity) {}, false},
		"a term, as if it were one": {func(id *Identity) { _ = id.sawTerm() }, false},
		"a log":                     {func(id *Identity) { _, _ = id.sawTerm(), id.sawLog() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, id, err := openTestStore(t, dir, new([]error))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Stable.SetUint64([]byte("CurrentTerm"), 0); err != nil {
				t.Fatal(err)
			}
			if id.data.Term {
				t.Error("a term of 0 is recorded")
			}
			c.remembered(id)
			s, id, err = reopen(t, dir, s, id)
			if _, lost := errors.AsType[*CorruptError](err); lost != c.lost {
				t.Fatalf("opened again: %v", err)
			}
			if c.lost {
				return
			}
			if err := s.Stable.SetUint64([]byte("CurrentTerm"), 1); err != nil {
				t.Fatal(err)
			}
			if !id.data.Term {
				t.Error("a term is not recorded")
			}
			if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, logFile))); err != nil {
				t.Fatal(err)
			}
			if err := id.Close(); err != nil {
				t.Fatal(err)
			}
			_, _, err = openTestStore(t, dir, new([]error))
			if _, lost := errors.AsType[*CorruptError](err); !lost {
				t.Errorf("the store is gone: %v", err)
			}
		})
	}
}

// A write fails if the identity cannot record it. Raft's answers depend on stored data, and a store of which nothing is recorded
// may be replaced.
func TestUnrecordedWritesFail(t *testing.T) {
	var reported []error
	report := func(err error) { reported = append(reported, err) }
	forgetful := func() error { return errFull }
	in := raft.NewInmemStore()
	logs := &checkedLog{LogStore: in, path: "x", corrupt: report, stored: forgetful}
	stable := &checkedStable{StableStore: in, path: "x", corrupt: report, stored: forgetful}
	if err := logs.StoreLog(entry(1, 1, "a")); !errors.Is(err, errFull) || len(reported) != 1 {
		t.Errorf("an entry: %v, reported %v", err, reported)
	}
	if err := stable.Set([]byte("LastVoteCand"), []byte("a")); !errors.Is(err, errFull) || len(reported) != 2 {
		t.Errorf("a vote: %v, reported %v", err, reported)
	}
	if err := stable.SetUint64([]byte("CurrentTerm"), 0); err != nil || len(reported) != 2 {
		t.Errorf("no term: %v, reported %v", err, reported)
	}
}

// A later version may keep further files in a data directory. The watermark is such a file for earlier versions. A member that returns
// to an earlier version starts nevertheless, and leaves these files alone.
func TestFilesOfLaterVersionsDoNotMatter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	later := filepath.Join(dir, "later")
	if err := os.WriteFile(later, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var reported []error
		s, id, err := openTestStore(t, dir, &reported)
		if err := errors.Join(err, s.Logs.StoreLog(entry(1, 1, "a")), s.Close(), id.Close()); err != nil || len(reported) > 0 {
			t.Fatalf("%v, reported %v", err, reported)
		}
	}
	if raw, err := os.ReadFile(later); err != nil || string(raw) != "x" {
		t.Errorf("the file holds %q, %v", raw, err)
	}
}
