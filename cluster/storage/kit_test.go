package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// stored holds the content of a data directory before it was damaged.
type stored struct {
	dir    string
	logs   []raft.Log
	values map[string][]byte
	// snapshots holds the content of each snapshot, oldest first.
	snapshots []string
}

// filled is the index up to which fill removes entries.
const filled = 300

// fill fills a data directory so that its log file has all kinds of content: several levels of pages, large values, and pages
// of earlier transactions.
func fill(t testing.TB) *stored {
	t.Helper()
	s := &stored{dir: t.TempDir(), values: map[string][]byte{}}
	id := mustOpen(t, s.dir)
	_ = id.sawTerm()
	_ = id.sawLog()
	path := filepath.Join(s.dir, logFile)
	bolt := openUnsynced(t, path, false)
	ignore := func() error { return nil }
	fail := func(err error) { t.Error(err) }
	logs := &checkedLog{LogStore: bolt, path: path, corrupt: fail, stored: ignore}
	stable := &checkedStable{StableStore: bolt, path: path, corrupt: fail, stored: ignore}
	rng := rand.New(rand.NewPCG(3, 4))
	const first, last = filled + 1, 600
	for i := uint64(1); i <= last; {
		var batch []*raft.Log
		for range 1 + rng.IntN(10) {
			size := 40 + rng.IntN(100)
			if i == 500 {
				size = 10000
			}
			batch = append(batch, entry(i, 1+i/100, strings.Repeat("x", size)))
			i++
		}
		if err := logs.StoreLogs(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(logs.DeleteRange(1, first-1), logs.DeleteRange(last-5, last+10)); err != nil {
		t.Fatal(err)
	}
	for i := uint64(last - 5); i <= last; i++ {
		if err := logs.StoreLog(entry(i, 8, "y")); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string][]byte{
		"CurrentTerm": binary.BigEndian.AppendUint64(nil, 8), "LastVoteTerm": binary.BigEndian.AppendUint64(nil, 8),
		"LastVoteCand": []byte(id.Node()),
	} {
		s.values[key] = value
		if err := stable.Set([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	for i := uint64(first); i <= last; i++ {
		var l raft.Log
		if err := logs.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		s.logs = append(s.logs, l)
	}
	if err := errors.Join(bolt.Close(), id.Close()); err != nil {
		t.Fatal(err)
	}
	return s
}

// compare returns an error for content that differs from the stored content.
func (s *stored) compare(logs raft.LogStore, stable raft.StableStore) error {
	first, err1 := logs.FirstIndex()
	last, err2 := logs.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if first != s.logs[0].Index || last != s.logs[len(s.logs)-1].Index {
		return fmt.Errorf("entries %d to %d", first, last)
	}
	for i := range s.logs {
		var l raft.Log
		if err := logs.GetLog(s.logs[i].Index, &l); err != nil {
			return err
		}
		l.AppendedAt = s.logs[i].AppendedAt // used only for metrics, not covered by the checksum
		if !reflect.DeepEqual(l, s.logs[i]) {
			return fmt.Errorf("entry %d is %+v", s.logs[i].Index, l)
		}
	}
	for key, want := range s.values {
		got, err := stable.Get([]byte(key))
		if err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s is %x, %w", key, got, err)
		}
	}
	return nil
}

// read opens the log file without writing to it, which is fast.
func (s *stored) read(path string) (err error) {
	defer catchDamage(path, &err)()
	if err := checkBolt(path); err != nil {
		return err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second, FreelistType: bbolt.FreelistMapType,
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	log := &checkedLog{LogStore: bolt, path: path, corrupt: func(error) {}, stored: func() error { return nil }}
	stable := &checkedStable{StableStore: bolt, path: path, corrupt: func(error) {}, stored: func() error { return nil }}
	if err := verify(path, filled, log, stable); err != nil {
		return err
	}
	return s.compare(log, stable)
}

// open opens the data directory as a node does.
func (s *stored) open() (err error) {
	id, err := OpenIdentity(s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, id.Close()) }()
	st, err := Open(id, slog.New(slog.DiscardHandler), func(error) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	metas, err := st.Snapshots.List()
	if err != nil || len(metas) != len(s.snapshots) {
		return fmt.Errorf("%d snapshots, %w", len(metas), err)
	}
	for i, want := range s.snapshots {
		meta, content, err := st.Snapshots.Open(metas[len(metas)-1-i].ID)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
		if string(got) != want || meta.Size != int64(len(want)) || meta.Version != 1 || meta.Index != 400+100*uint64(i) || len(meta.Configuration.Servers) != 2 {
			return fmt.Errorf("snapshot %+v: %q", meta, got)
		}
	}
	return s.compare(st.Logs, st.Stable)
}

// addSnapshots adds snapshotsRetained snapshots.
func addSnapshots(t testing.TB, s *stored) {
	t.Helper()
	files, err := raft.NewFileSnapshotStore(s.dir, snapshotsRetained, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := &checkedSnapshots{SnapshotStore: files, path: filepath.Join(s.dir, snapshotDir), corrupt: func(err error) { t.Error(err) }}
	_, trans := raft.NewInmemTransport("")
	conf := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "x:1"}, {Suffrage: raft.Nonvoter, ID: "b", Address: "x:2"}}}
	for i := range uint64(snapshotsRetained) {
		sink, err := c.Create(1, 400+100*i, 5+i, conf, 40, trans)
		if err != nil {
			t.Fatal(err)
		}
		state := fmt.Sprint("state ", i)
		if _, err := io.WriteString(sink, state); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		s.snapshots = append(s.snapshots, state)
	}
}
