package cluster

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
)

func openTestStore(t *testing.T, dir string, told *[]error) (*store, *identity, error) {
	t.Helper()
	id := mustOpen(t, dir)
	t.Cleanup(func() { _ = id.close() })
	s, err := openStore(dir, nil, id, slog.New(slog.DiscardHandler), func(err error) { *told = append(*told, err) })
	return s, id, err
}

// TestDamagedMetaPageIsDetected: bbolt would go on with the older of the two,
// and undo the last vote.
func TestDamagedMetaPageIsDetected(t *testing.T) {
	for page := range 2 {
		dir := t.TempDir()
		var told []error
		s, id, err := openTestStore(t, dir, &told)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"CurrentTerm", "LastVoteTerm"} {
			if err := s.Stable.SetUint64([]byte(key), 7); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.close(), id.close()); err != nil {
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
		_, _, err = openTestStore(t, dir, &told)
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			t.Errorf("page %d: %v", page, err)
		}
	}
}

// brokenStore is a disk that takes no more writes.
type brokenStore struct{ *raft.InmemStore }

var errFull = errors.New("no space left on device")

func (brokenStore) StoreLogs([]*raft.Log) error      { return errFull }
func (brokenStore) DeleteRange(uint64, uint64) error { return errFull }
func (brokenStore) Set([]byte, []byte) error         { return errFull }

func TestFailedWritesEndTheMember(t *testing.T) {
	var told []error
	tell := func(err error) { told = append(told, err) }
	broken := brokenStore{raft.NewInmemStore()}
	logs := &checkedLog{LogStore: broken, path: "x", corrupt: tell, stored: func() { t.Error("stored") }}
	stable := &checkedStable{StableStore: broken, path: "x", corrupt: tell, stored: func() { t.Error("stored") }}
	for i, write := range []func() error{
		func() error { return logs.StoreLog(entry(1, 1, "a")) },
		func() error { return logs.DeleteRange(1, 2) },
		func() error { return stable.SetUint64([]byte("CurrentTerm"), 1) },
	} {
		err := write()
		if _, ok := errors.AsType[*DiskError](err); !ok || !errors.Is(err, errFull) || len(told) != i+1 {
			t.Errorf("write %d: %v, told %d times", i, err, len(told))
		}
	}
}
