package raftlog_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// sum returns the checksum that members put into an entry's extensions.
func sum(l *raft.Log) []byte {
	head := binary.BigEndian.AppendUint64(nil, l.Index)
	head = binary.BigEndian.AppendUint64(head, l.Term)
	head = append(append(head, byte(l.Type)), l.Data...)
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(head, crc32.MakeTable(crc32.Castagnoli)))
}

// dataDir writes a data directory with these entries, as members do. Entries without extensions get their checksum.
func dataDir(t *testing.T, logs ...*raft.Log) string {
	t.Helper()
	dir := t.TempDir()
	bolt, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(dir, "raft.db"), NoSync: true, BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		if l.Extensions == nil {
			l.Extensions = sum(l)
		}
	}
	if err := bolt.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// terms returns entries from index first on, with these terms. The data of an entry is its term.
func terms(first uint64, terms ...uint64) (logs []*raft.Log) {
	for i, term := range terms {
		logs = append(logs, &raft.Log{Index: first + uint64(i), Term: term, Type: raft.LogNoop, Data: fmt.Appendf(nil, "%d", term)})
	}
	return logs
}

// snapshot writes a snapshot's metadata into a data directory and returns the snapshot's path.
func snapshot(t *testing.T, dir string, index, term uint64) string {
	t.Helper()
	path := filepath.Join(dir, "snapshots", fmt.Sprintf("%d-%d-0", term, index))
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(raft.SnapshotMeta{Version: 1, Index: index, Term: term})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "meta.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run is an open archive.
type run struct {
	*raftlog.Archive
	t   *testing.T
	dir string
	at  int64
}

func newRun(t *testing.T) *run {
	t.Helper()
	dir := t.TempDir()
	a, err := raftlog.Create(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &run{Archive: a, t: t, dir: dir}
}

func (r *run) harvest(member, dir string) raftlog.Summary {
	r.t.Helper()
	r.at++
	s, err := r.Harvest(member, r.at, dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *run) open() *raftlog.Log {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
	l, err := raftlog.Open(r.dir, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// chain returns the terms of the committed entries. At the first gap it ends with 0.
func chain(t *testing.T, l *raftlog.Log) (terms []uint64) {
	t.Helper()
	for e, err := range l.Entries() {
		if err != nil {
			return append(terms, 0)
		}
		if e.Index != uint64(len(terms))+1 || string(e.Data) != fmt.Sprint(e.Term) {
			t.Errorf("entry %+v at position %d", e, len(terms)+1)
		}
		terms = append(terms, e.Term)
	}
	return terms
}
