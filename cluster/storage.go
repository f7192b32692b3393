package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/snowraft/snowraft/internal/mutant"
)

const (
	logFile           = "raft.db"
	snapshotDir       = "snapshots"
	snapshotsRetained = 2
	logCacheEntries   = 512
)

// Storage is where a node keeps its log, its vote and its snapshots.
type Storage struct {
	Logs      raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
}

// store is an opened data directory with its checks in front.
type store struct {
	Storage
	log    *checkedLog
	stable *checkedStable
	bolt   *guardedBolt // nil in simulations
}

func hasRaftState(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, logFile))
	return err == nil
}

// openStore opens a data directory and verifies everything in it; in is used
// in its place when it is given. corrupt is told of damage found later, and of
// failures of the disk; from then on whoever calls the store's Logs and Stable
// ends, see failStop.
func openStore(dir string, in *Storage, id *identity, logger *slog.Logger, corrupt func(error)) (*store, error) {
	s, err := openOnce(dir, in, id, logger, corrupt)
	if err == nil || in != nil {
		return s, err
	}
	if err := setAside(dir, id, err, logger); err != nil {
		return nil, err
	}
	return openOnce(dir, in, id, logger, corrupt)
}

func openOnce(dir string, in *Storage, id *identity, logger *slog.Logger, corrupt func(error)) (*store, error) {
	s := &store{}
	path := filepath.Join(dir, logFile)
	if in == nil {
		bolt, err := openBolt(path)
		if err != nil {
			return nil, err
		}
		snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsRetained, hashicorpLogger(logger, "snapshot"))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("data directory: %w", err), bolt.Close())
		}
		s.bolt = &guardedBolt{bolt: bolt}
		in = &Storage{Logs: s.bolt, Stable: s.bolt, Snapshots: snaps}
	}
	stop := &failStop{tell: corrupt}
	s.log = &checkedLog{LogStore: in.Logs, path: path, corrupt: stop.fail, stored: id.sawLog}
	s.stable = &checkedStable{StableStore: in.Stable, path: path, corrupt: stop.fail, stored: id.sawTerm}
	snaps := &checkedSnapshots{SnapshotStore: in.Snapshots, path: filepath.Join(dir, snapshotDir), corrupt: stop.fail}
	if s.bolt != nil {
		if err := verify(path, s.log, s.stable, snaps); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	cache, err := raft.NewLogCache(logCacheEntries, s.log)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.Storage = Storage{
		Logs:      &stopLog{LogStore: &gaplessLog{LogStore: cache, path: path, snapshots: snaps, fail: stop.fail}, path: path, stop: stop},
		Stable:    &stopStable{StableStore: s.stable, path: path, stop: stop},
		Snapshots: snaps,
	}
	if s.bolt != nil {
		if err := id.lost(s); err != nil {
			return nil, errors.Join(err, s.close())
		}
		if err := s.takeBootstrapBack(id, logger); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func openBolt(path string) (b *raftboltdb.BoltStore, err error) {
	defer catchDamage(path, &err)()
	if err := checkBolt(path); err != nil {
		return nil, err
	}
	b, err = raftboltdb.New(raftboltdb.Options{
		Path:   path,
		NoSync: mutant.On(mutant.NoSync),
		// The list of free pages is written with each commit, by default: beside
		// it a wrong page number shows, see boltFile.free.
		BoltOptions: &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType},
	})
	switch {
	case errors.Is(err, bbolt.ErrTimeout): //nolint:staticcheck // bbolt returns this very value
		return nil, fmt.Errorf("%s is in use by another process", path)
	case errors.Is(err, bbolt.ErrInvalid), errors.Is(err, bbolt.ErrChecksum), errors.Is(err, bbolt.ErrVersionMismatch): //nolint:staticcheck // likewise
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	case err != nil:
		if _, ok := errors.AsType[syscall.Errno](err); !ok { // "file size too small", say: nothing that the system refuses
			return nil, &CorruptError{Path: path, Reason: err.Error()}
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// verify reads all that is on disk once.
func verify(path string, logs *checkedLog, stable *checkedStable, snaps *checkedSnapshots) (err error) {
	defer catchDamage(path, &err)()
	covered, err := snaps.scan()
	if err != nil {
		return err
	}
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

func (s *store) close() error {
	if s.bolt == nil {
		return nil
	}
	return s.bolt.close()
}
