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
)

const (
	logFile           = "raft.db"
	snapshotDir       = "snapshots"
	snapshotsRetained = 2
	logCacheEntries   = 512
)

// Stores holds the stores of Raft's data.
type Stores struct {
	Logs      raft.LogStore
	Stable    raft.StableStore // term and vote
	Snapshots raft.SnapshotStore
}

// Store is a set of stores with checks in front. Its methods may be called from any goroutine; the methods of Stores only as
// Raft calls them. After a reported failure, Logs and Stable end each goroutine that calls them with runtime.Goexit, so that
// no answer can depend on their content.
type Store struct {
	Stores
	log    *checkedLog
	stable *checkedStable
	bolt   *guardedBolt // nil without a data directory
}

// Open opens the stores in the data directory of id. id keeps the directory locked, so close the store before id. Open reads
// and verifies everything on disk once, and removes log entries that a snapshot replaced. It sets aside or undoes the remains
// of an interrupted first start.
//
// failed is called with later failures: a *CorruptError or a *DiskError. Open itself returns such errors, or errors of the
// operating system.
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
	guarded := newGuardedBolt(bolt)
	defer func() {
		if err != nil {
			err = errors.Join(err, guarded.close())
		}
	}()
	files, err := openSnapshots(id.dir, logger)
	if err != nil {
		return nil, err
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

// Guard puts the checks in front of stores that are not in a data directory. It does not verify their present content.
func Guard(in Stores, id *Identity, failed func(error)) (*Store, error) {
	s, _, err := guard(in, id, failed)
	return s, err
}

func guard(in Stores, id *Identity, failed func(error)) (*Store, *checkedSnapshots, error) {
	path := filepath.Join(id.dir, logFile)
	stop := &failStop{path: path, report: failed}
	s := &Store{
		log:    &checkedLog{LogStore: in.Logs, path: path, corrupt: stop.fail, stored: id.sawLog},
		stable: &checkedStable{StableStore: in.Stable, path: path, corrupt: stop.fail, stored: id.sawTerm},
	}
	snaps := &checkedSnapshots{SnapshotStore: in.Snapshots, path: filepath.Join(id.dir, snapshotDir), corrupt: stop.fail}
	cache, err := raft.NewLogCache(logCacheEntries, s.log)
	if err != nil {
		return nil, nil, err
	}
	ending := &through{&gaplessLog{LogStore: cache, path: path, snapshots: snaps, fail: stop.fail}, s.stable, stop.read, stop.write}
	s.Stores = Stores{Logs: ending, Stable: ending, Snapshots: snaps}
	return s, snaps, nil
}

// Writing returns the number of the write to the log that is in progress; 0 if there is none.
func (s *Store) Writing() uint64 { return s.log.writing() }

// Close closes the files. It fails if the disk does not respond within StuckTimeout.
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
		// By default, each commit writes the list of free pages. With the list, a wrong page number is detected, see
		// boltFile.free.
		BoltOptions: &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType},
	})
	switch {
	case errors.Is(err, bbolt.ErrTimeout): //nolint:staticcheck // bbolt returns this very value
		return nil, fmt.Errorf("%s is in use by another process", path)
	case errors.Is(err, bbolt.ErrInvalid), errors.Is(err, bbolt.ErrChecksum), errors.Is(err, bbolt.ErrVersionMismatch): //nolint:staticcheck // see above
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	case err != nil:
		if _, ok := errors.AsType[syscall.Errno](err); !ok { // an error of bbolt itself, such as "file size too small"
			return nil, &CorruptError{Path: path, Reason: err.Error()}
		}
		return nil, &unusableError{filepath.Dir(path), err}
	}
	return b, nil
}

// verify reads the whole log, the term and the vote once. covered is the last index of the newest snapshot.
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

// catchDamage turns a panic or a memory fault inside bbolt, which damaged pages cause, into a CorruptError. Use it as: defer
// catchDamage(path, &err)().
func catchDamage(path string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = &CorruptError{Path: path, Reason: fmt.Sprint(r)}
		}
	}
}
