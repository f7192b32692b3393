package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/snowraft/snowraft/cluster/logging"
)

// Inspection is the readable content of the data directory of a stopped member, without commands.
type Inspection struct {
	MemberID, ClusterID    string         // ClusterID is empty if the member never joined a cluster
	Starts                 uint64         // starts with the directory
	HeldTerm, HeldLog      bool           // whether the directory ever held a term, and log entries
	Secured                bool           // the member has ever run with a cluster secret
	PageBytes, Pages       uint64         // page size and number of pages of the log's file
	FirstIndex, LastIndex  uint64         // first and last entry of the log; 0 if it is empty
	FirstTerm, LastTerm    uint64         // terms of the entries at FirstIndex and LastIndex
	Entries                map[string]int // number of entries by type
	CurrentTerm, VotedTerm uint64         // Raft's term, and the term of the last vote
	VotedFor               string         // candidate of the last vote, in Raft's form
	ConfigurationIndex     uint64         // index of the last configuration in the log
	Configuration          []raft.Server
	Snapshots              []InspectedSnapshot // newest first
	Usage                  Usage
	// Problems holds the errors of all parts that cannot be read.
	Problems []error
}

// InspectedSnapshot is a snapshot in a data directory.
type InspectedSnapshot struct {
	ID            string
	Index, Term   uint64
	Bytes         int64 // size of the state
	Configuration []raft.Server
	Problem       error // nil if its checksums are correct
}

// Inspect reads the data directory of a stopped member and changes nothing. It continues after damage. It fails if dir is not a
// data directory, and while a member runs with it.
func Inspect(dir string, logger *slog.Logger) (_ *Inspection, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil {
		return nil, fmt.Errorf("%s is not the data directory of a member: %w", dir, err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	in := &Inspection{}
	in.identity(filepath.Join(dir, identityFile), raw)
	in.note(in.log(filepath.Join(dir, logFile)))
	in.note(in.snapshots(dir, logger))
	in.Usage, err = UsageOf(dir)
	in.note(err)
	return in, nil
}

func (in *Inspection) note(err error) {
	if err != nil {
		in.Problems = append(in.Problems, err)
	}
}

func (in *Inspection) identity(path string, raw []byte) {
	var data identityData
	switch err := json.Unmarshal(raw, &data); {
	case err != nil:
		in.note(&CorruptError{Path: path, Reason: "not JSON"})
		return
	case data.Sum != data.sum() || uuid.Validate(data.MemberID) != nil:
		in.note(&CorruptError{Path: path, Reason: "checksum mismatch"})
		return
	}
	in.MemberID, in.ClusterID, in.Starts = data.MemberID, data.ClusterID, data.Starts
	in.HeldTerm, in.HeldLog, in.Secured = data.Term, data.Log, data.Secured
}

func (in *Inspection) log(path string) (err error) {
	defer catchDamage(path, &err)()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	check := &boltFile{path: path, file: file, size: uint64(max(0, info.Size()))}
	if err := check.readMetas(); err != nil {
		return err
	}
	in.PageBytes, in.Pages = check.pageSize, check.pages
	if err := check.check(); err != nil {
		return err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{Timeout: time.Second, ReadOnly: true}})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	ignore := func(error) {}
	in.stable(&checkedStable{StableStore: bolt, path: path, corrupt: ignore})
	return in.entries(&checkedLog{LogStore: bolt, path: path, corrupt: ignore})
}

func (in *Inspection) stable(s *checkedStable) {
	number := func(key string) uint64 {
		v, err := s.GetUint64([]byte(key))
		if corrupt, ok := errors.AsType[*CorruptError](err); ok { // otherwise the value is absent
			in.note(corrupt)
		}
		return v
	}
	in.CurrentTerm, in.VotedTerm = number("CurrentTerm"), number("LastVoteTerm")
	voted, err := s.Get([]byte("LastVoteCand"))
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		in.note(corrupt)
	}
	in.VotedFor = string(voted)
}

// entries reads the whole log.
func (in *Inspection) entries(logs *checkedLog) (err error) {
	if in.FirstIndex, err = logs.FirstIndex(); err != nil {
		return err
	}
	if in.LastIndex, err = logs.LastIndex(); err != nil {
		return err
	}
	in.Entries = make(map[string]int)
	if in.FirstIndex == 0 {
		return nil
	}
	for i := in.FirstIndex; i <= in.LastIndex; i++ {
		var l raft.Log
		if err := logs.GetLog(i, &l); err != nil {
			return &CorruptError{Path: logs.path, Reason: fmt.Sprintf("log entry %d of %d to %d: %v", i, in.FirstIndex, in.LastIndex, err)}
		}
		in.Entries[l.Type.String()]++
		if in.LastTerm = l.Term; i == in.FirstIndex {
			in.FirstTerm = l.Term
		}
		if l.Type == raft.LogConfiguration {
			in.ConfigurationIndex, in.Configuration = i, raft.DecodeConfiguration(l.Data).Servers
		}
	}
	return nil
}

func (in *Inspection) snapshots(dir string, logger *slog.Logger) error {
	path := filepath.Join(dir, snapshotDir)
	if _, err := os.Stat(path); err != nil {
		return err // NewFileSnapshotStoreWithLogger would create the directory
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsRetained, logging.Hashicorp(logger, "snapshot", nil))
	if err != nil {
		return err
	}
	checked := &checkedSnapshots{SnapshotStore: files, path: path, corrupt: func(error) {}}
	metas, err := checked.List()
	if err != nil {
		return &CorruptError{Path: path, Reason: err.Error()}
	}
	for _, m := range metas {
		s := InspectedSnapshot{ID: m.ID, Index: m.Index, Term: m.Term, Bytes: m.Size, Configuration: m.Configuration.Servers}
		_, content, err := checked.open(m.ID)
		if s.Problem = err; err == nil {
			s.Problem = content.Close()
		}
		in.Snapshots = append(in.Snapshots, s)
	}
	return nil
}
