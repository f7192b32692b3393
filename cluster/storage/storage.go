package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/snowraft/snowraft/cluster/logging"
)

const (
	logFile           = "raft.db"
	snapshotDir       = "snapshots"
	snapshotsRetained = 2
	logCacheEntries   = 512
)

// Stores are the stores that Raft keeps its data in.
type Stores struct {
	Logs      raft.LogStore
	Stable    raft.StableStore // term and vote
	Snapshots raft.SnapshotStore
}

// Store is a set of stores with checks in front. Its methods may be called from any goroutine;
// those of Stores as Raft calls them. After a failure, which is reported once, Logs and Stable
// end the goroutine that calls them, with runtime.Goexit, before an answer can rest on what they hold.
type Store struct {
	Stores
	log    *checkedLog
	stable *checkedStable
	bolt   *guardedBolt // nil without a data directory
}

// Open opens the stores in the data directory of id, which stays locked by id: close the store first.
// It reads and verifies everything on disk once, and removes log entries that a snapshot replaced.
// The remains of an interrupted first start are set aside or undone.
//
// failed is called with what goes wrong later: a *CorruptError or a *DiskError. The errors of Open
// are those, and others for what the system refuses.
func Open(id *Identity, logger *slog.Logger, failed func(error)) (*Store, error) {
	s, err := openOnce(id, logger, failed)
	if err == nil {
		return s, nil
	}
	if err := setAside(id, err, logger); err != nil {
		return nil, err
	}
	return openOnce(id, logger, failed)
}

func openOnce(id *Identity, logger *slog.Logger, failed func(error)) (_ *Store, err error) {
	path := filepath.Join(id.dir, logFile)
	bolt, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	guarded := &guardedBolt{bolt: bolt}
	defer func() {
		if err != nil {
			err = errors.Join(err, guarded.close())
		}
	}()
	files, err := raft.NewFileSnapshotStoreWithLogger(id.dir, snapshotsRetained, logging.Hashicorp(logger, "snapshot", nil))
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	s, snaps, err := guard(Stores{Logs: guarded, Stable: guarded, Snapshots: files}, id, failed)
	if err != nil {
		return nil, err
	}
	s.bolt = guarded
	covered, err := snaps.scan()
	if err != nil {
		return nil, err
	}
	if err := verify(path, covered, s.log, s.stable); err != nil {
		return nil, err
	}
	if err := id.lost(s); err != nil {
		return nil, err
	}
	return s, s.takeBootstrapBack(id, logger)
}

// Guard puts the checks in front of stores that are in no data directory. It verifies nothing at once.
func Guard(in Stores, id *Identity, failed func(error)) (*Store, error) {
	s, _, err := guard(in, id, failed)
	return s, err
}

func guard(in Stores, id *Identity, failed func(error)) (*Store, *checkedSnapshots, error) {
	path, stop := filepath.Join(id.dir, logFile), &failStop{tell: failed}
	s := &Store{
		log:    &checkedLog{LogStore: in.Logs, path: path, corrupt: stop.fail, stored: id.sawLog},
		stable: &checkedStable{StableStore: in.Stable, path: path, corrupt: stop.fail, stored: id.sawTerm},
	}
	snaps := &checkedSnapshots{SnapshotStore: in.Snapshots, path: filepath.Join(id.dir, snapshotDir), corrupt: stop.fail}
	cache, err := raft.NewLogCache(logCacheEntries, s.log)
	if err != nil {
		return nil, nil, err
	}
	s.Stores = Stores{
		Logs:      &stopLog{LogStore: &gaplessLog{LogStore: cache, path: path, snapshots: snaps, fail: stop.fail}, path: path, stop: stop},
		Stable:    &stopStable{StableStore: s.stable, path: path, stop: stop},
		Snapshots: snaps,
	}
	return s, snaps, nil
}

// Writing numbers the write to the log that is in progress; 0 without one.
func (s *Store) Writing() uint64 { return s.log.writing() }

// Close closes the files. It fails when the disk does not answer for StuckTimeout.
func (s *Store) Close() error {
	if s.bolt == nil {
		return nil
	}
	return s.bolt.close()
}

func openBolt(path string) (b *raftboltdb.BoltStore, err error) {
	defer catchDamage(path, &err)()
	if err := checkBolt(path); err != nil {
		return nil, err
	}
	b, err = raftboltdb.New(raftboltdb.Options{
		Path: path,
		// The list of free pages is written with each commit, by default: beside
		// it a wrong page number shows, see boltFile.free.
		BoltOptions: &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType},
	})
	switch {
	case errors.Is(err, bbolt.ErrTimeout): //nolint:staticcheck // bbolt returns this very value
		return nil, fmt.Errorf("%s is in use by another process", path)
	case errors.Is(err, bbolt.ErrInvalid), errors.Is(err, bbolt.ErrChecksum), errors.Is(err, bbolt.ErrVersionMismatch): //nolint:staticcheck // as above
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	case err != nil:
		if _, ok := errors.AsType[syscall.Errno](err); !ok { // "file size too small", say: nothing that the system refuses
			return nil, &CorruptError{Path: path, Reason: err.Error()}
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// verify reads the whole log file once. The newest snapshot goes up to the index covered.
func verify(path string, covered uint64, logs *checkedLog, stable *checkedStable) (err error) {
	defer catchDamage(path, &err)()
	if err := logs.scan(covered); err != nil {
		return err
	}
	for _, key := range []string{"CurrentTerm", "LastVoteTerm"} {
		var corrupt *CorruptError
		if _, err := stable.GetUint64([]byte(key)); errors.As(err, &corrupt) {
			return err
		}
	}
	var corrupt *CorruptError
	if _, err := stable.Get([]byte("LastVoteCand")); errors.As(err, &corrupt) {
		return err
	}
	return nil
}

// catchDamage turns a panic or a memory fault that damaged pages cause inside
// bbolt into an error: defer catchDamage(path, &err)().
func catchDamage(path string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = &CorruptError{Path: path, Reason: fmt.Sprint(r)}
		}
	}
}
