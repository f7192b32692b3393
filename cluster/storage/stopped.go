package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// Stopped is the data directory of a stopped member, opened for reading only. It stays locked until Close, so that no member
// starts with it.
type Stopped struct {
	dir       string
	lock      *dirLock
	data      identityData
	bolt      *raftboltdb.BoltStore
	log       *checkedLog
	snapshots *checkedSnapshots
}

// OpenStopped opens the data directory of a stopped member. It fails while a member runs with it, and if it was never
// part of a cluster.
//
// Errors: [*CorruptError]; [ErrNeverJoined]; [ErrInterrupted]; errors of the operating system.
func OpenStopped(dir string, logger *slog.Logger) (_ *Stopped, err error) {
	s := &Stopped{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := interrupted(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, identityFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not the data directory of a member: %w", dir, err)
	}
	if s.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &s.data); err != nil {
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	}
	if s.data.Sum != s.data.sum() || uuid.Validate(s.data.MemberID) != nil {
		return nil, &CorruptError{Path: path, Reason: "checksum mismatch"}
	}
	if s.data.ClusterID == "" {
		return nil, fmt.Errorf("%s: %w", dir, ErrNeverJoined)
	}
	return s, s.open(logger)
}

// ErrNeverJoined reports that a data directory was never part of a cluster.
var ErrNeverJoined = errors.New("the member never joined a cluster")

func (s *Stopped) open(logger *slog.Logger) (err error) {
	path := filepath.Join(s.dir, logFile)
	defer catchDamage(path, &err)()
	if _, err := os.Stat(path); err != nil {
		return &CorruptError{Path: path, Reason: "the file is missing"}
	}
	if err := checkBolt(path); err != nil {
		return err
	}
	var stable *checkedStable
	if s.bolt, s.log, stable, err = readBolt(path); err != nil {
		return err
	}
	if term, err := stable.GetUint64([]byte("CurrentTerm")); s.data.Term && (err != nil || s.data.Log && term == 0) {
		return &CorruptError{Path: path, Reason: "the term and vote that it held are gone"}
	}
	files, err := openSnapshots(s.dir, logger)
	if err != nil {
		return err
	}
	s.snapshots = &checkedSnapshots{SnapshotStore: files, path: filepath.Join(s.dir, snapshotDir), corrupt: func(error) {}}
	return nil
}

// Cluster returns the cluster's ID.
func (s *Stopped) Cluster() string { return s.data.ClusterID }

// Node returns the member's ID.
func (s *Stopped) Node() string { return s.data.MemberID }

// Replay calls restore with the content of the newest intact snapshot that the log continues, if there is one. Then it calls
// apply with each later entry of the log, in order; the last entries may never have been committed. It returns the last
// index, the term of the entry there, and the servers of the last configuration. The directory does not change.
//
// Errors: [*CorruptError] if an entry or every usable snapshot is damaged or missing; those of restore and apply.
func (s *Stopped) Replay(restore func(io.ReadCloser) error, apply func(*raft.Log) error) (index, term uint64, servers []raft.Server, err error) {
	defer catchDamage(s.log.path, &err)()
	first, last, err := s.bounds()
	if err != nil {
		return 0, 0, nil, err
	}
	meta, err := s.newest(first, last, restore)
	if err != nil {
		return 0, 0, nil, err
	}
	if meta != nil {
		index, term, servers = meta.Index, meta.Term, meta.Configuration.Servers
	}
	for i := index + 1; i <= last; i++ {
		var l raft.Log
		if err := s.log.GetLog(i, &l); err != nil {
			return 0, 0, nil, &CorruptError{Path: s.log.path, Reason: fmt.Sprintf("log entry %d of %d to %d: %v", i, first, last, err)}
		}
		if l.Term < term {
			return 0, 0, nil, &CorruptError{Path: s.log.path, Reason: fmt.Sprintf("log entry %d of term %d comes after term %d", i, l.Term, term)}
		}
		if l.Type == raft.LogConfiguration {
			servers = raft.DecodeConfiguration(l.Data).Servers
		}
		if err := apply(&l); err != nil {
			return 0, 0, nil, err
		}
		index, term = i, l.Term
	}
	if held, err := s.held(); err != nil || index < max(held, 1) {
		return 0, 0, nil, errors.Join(err, &CorruptError{Path: s.dir, Reason: fmt.Sprintf("the log is readable up to entry %d, but the member had entry %d", index, max(held, 1))})
	}
	return index, term, servers, nil
}

// held returns the index of the newest snapshot from the name of its directory, even if the snapshot cannot be read.
func (s *Stopped) held() (index uint64, err error) {
	entries, err := os.ReadDir(s.snapshots.path)
	if err != nil {
		return 0, fmt.Errorf("snapshots: %w", err)
	}
	for _, e := range entries {
		var term, at, millis uint64
		if n, _ := fmt.Sscanf(e.Name(), "%d-%d-%d", &term, &at, &millis); n == 3 && !strings.HasSuffix(e.Name(), ".tmp") {
			index = max(index, at)
		}
	}
	return index, nil
}

func (s *Stopped) bounds() (first, last uint64, err error) {
	if first, err = s.log.FirstIndex(); err == nil {
		last, err = s.log.LastIndex()
	}
	if err != nil {
		return 0, 0, &CorruptError{Path: s.log.path, Reason: err.Error()}
	}
	return first, last, nil
}

// newest restores the newest intact snapshot and returns its metadata. An older snapshot suffices if the log continues it. It
// returns nil if there is none and the log begins with entry 1.
func (s *Stopped) newest(first, last uint64, restore func(io.ReadCloser) error) (*raft.SnapshotMeta, error) {
	metas, err := s.snapshots.SnapshotStore.List()
	if err != nil {
		return nil, &CorruptError{Path: s.snapshots.path, Reason: err.Error()}
	}
	slices.SortFunc(metas, func(a, b *raft.SnapshotMeta) int { return int(b.Index) - int(a.Index) }) //nolint:gosec // compared only
	var damage []error
	for _, m := range metas {
		if last > m.Index && first > m.Index+1 {
			break
		}
		meta, content, err := s.snapshots.open(m.ID)
		if err == nil {
			err = restore(content)
		}
		if err == nil {
			return meta, nil
		}
		damage = append(damage, err)
	}
	if first == 1 {
		return nil, nil //nolint:nilnil // the log is whole
	}
	if len(damage) == 0 {
		damage = []error{&CorruptError{Path: s.snapshots.path, Reason: fmt.Sprintf("the log begins with entry %d, but no snapshot reaches that entry", first)}}
	}
	return nil, errors.Join(damage...)
}

// Close unlocks the directory.
func (s *Stopped) Close() error {
	var errs []error
	if s.bolt != nil {
		errs = append(errs, s.bolt.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
