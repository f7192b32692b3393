package simtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/storage"
)

// disk keeps a node's log, vote and snapshots. Everything written survives
// a crash. Unlike raft's own in-memory stores, a disk can be copied at
// one moment, and an unfinished snapshot does not count.
type disk struct {
	mu        sync.Mutex
	logs      map[uint64]*raft.Log
	low, high uint64
	values    map[string][]byte
	snapshots []snapshot     // newest first
	size      int            // size of the logs' data
	cut       *atomic.Uint64 // number of truncations of the log
	write     func()         // takes the time of a write to the log
	replay    *raft.Log      // entry that takes the place of one with its index and term; nil: none
}

type snapshot struct {
	meta raft.SnapshotMeta
	data []byte
}

// newDisk returns an empty disk.
func (w *world) newDisk() *disk {
	return &disk{logs: make(map[uint64]*raft.Log), values: make(map[string][]byte), cut: &w.counts.truncations, write: w.net.write}
}

// clone copies a disk. The content is never changed in place.
func (d *disk) clone() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{
		logs: maps.Clone(d.logs), low: d.low, high: d.high, size: d.size,
		values: maps.Clone(d.values), snapshots: slices.Clone(d.snapshots), cut: d.cut, write: d.write, replay: d.replay,
	}
}

func (d *disk) storage() *storage.Stores {
	return &storage.Stores{Logs: d, Stable: d, Snapshots: d}
}

// usage returns the sizes of a disk's content.
func (d *disk) usage() (entries, logBytes, snapshotBytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.snapshots {
		snapshotBytes += len(s.data)
	}
	return len(d.logs), d.size, snapshotBytes
}

// The log.

func (d *disk) FirstIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.low, nil
}

func (d *disk) LastIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.high, nil
}

func (d *disk) GetLog(index uint64, l *raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	stored, ok := d.logs[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*l = *stored
	return nil
}

func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.write()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range logs {
		if r := d.replay; r != nil && l.Index == r.Index && l.Term == r.Term && l.Type == r.Type {
			l.Data, l.Extensions = r.Data, r.Extensions // also in the memory of the process
		}
		c := *l
		d.logs[l.Index] = &c
		d.size += len(l.Data)
		if d.low == 0 {
			d.low = l.Index
		}
		d.high = max(d.high, l.Index)
	}
	return nil
}

func (d *disk) DeleteRange(from, to uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := from; i <= to; i++ {
		if l, ok := d.logs[i]; ok {
			d.size -= len(l.Data)
			delete(d.logs, i)
		}
	}
	if from <= d.low {
		d.low = to + 1
	}
	if to >= d.high {
		if from > d.low {
			d.cut.Add(1)
		}
		d.high = from - 1
	}
	if d.low > d.high {
		d.low, d.high = 0, 0
	}
	return nil
}

// Term and vote.

func (d *disk) Set(key, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[string(key)] = bytes.Clone(value)
	return nil
}

func (d *disk) Get(key []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	value, ok := d.values[string(key)]
	if !ok {
		return nil, errors.New("not found") // the text that raft expects
	}
	return value, nil
}

func (d *disk) SetUint64([]byte, uint64) error { return errors.ErrUnsupported } // cluster uses Set
func (d *disk) GetUint64([]byte) (uint64, error) {
	return 0, errors.ErrUnsupported
}

// Snapshots.

func (d *disk) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &sink{disk: d, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d-%d", term, index, len(d.snapshots)), Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	}}, nil
}

func (d *disk) List() ([]*raft.SnapshotMeta, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var metas []*raft.SnapshotMeta
	for _, s := range d.snapshots {
		metas = append(metas, &s.meta)
	}
	return metas, nil
}

func (d *disk) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.snapshots {
		if s.meta.ID == id {
			return &s.meta, io.NopCloser(bytes.NewReader(s.data)), nil
		}
	}
	return nil, nil, fmt.Errorf("no snapshot %s", id)
}

// sink is an unfinished snapshot.
type sink struct {
	bytes.Buffer
	disk *disk
	meta raft.SnapshotMeta
}

func (s *sink) ID() string    { return s.meta.ID }
func (s *sink) Cancel() error { return nil }

// Close finishes the snapshot. The disk keeps the last two snapshots.
func (s *sink) Close() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.meta.Size = int64(s.Len())
	s.disk.snapshots = slices.Insert(s.disk.snapshots, 0, snapshot{s.meta, s.Bytes()})
	s.disk.snapshots = s.disk.snapshots[:min(2, len(s.disk.snapshots))]
	return nil
}
