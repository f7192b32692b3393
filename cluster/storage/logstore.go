package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkedLog adds a checksum to every log entry before it is stored and verifies it when the entry is read, because bbolt has
// no checksums over its data pages.
//
// The checksum covers index, term, type and data. It is sent in the entry's Extensions, so that a follower verifies the entry
// that the leader stored.
type checkedLog struct {
	raft.LogStore
	path    string
	corrupt func(error)  // called with failed writes
	stored  func() error // called after entries were stored

	// writes counts the begins and the ends of writes, so it is odd while a write is in progress. The watchdog reads it; raft
	// writes from one goroutine.
	writes atomic.Uint64
}

func (c *checkedLog) StoreLog(l *raft.Log) error { return c.StoreLogs([]*raft.Log{l}) }

func (c *checkedLog) StoreLogs(logs []*raft.Log) error {
	for _, l := range logs {
		if len(l.Extensions) == 0 {
			l.Extensions = binary.BigEndian.AppendUint32(nil, logSum(l))
		} else if err := c.verify(l); err != nil {
			// A leader sent a damaged entry. It is refused and not reported, because this node never stored it.
			return err
		}
	}
	c.writes.Add(1)
	defer c.writes.Add(1)
	if err := c.LogStore.StoreLogs(logs); err != nil {
		return c.unwritten(err)
	}
	if err := c.stored(); err != nil {
		c.corrupt(err)
		return err
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (c *checkedLog) DeleteRange(first, last uint64) error {
	if err := c.LogStore.DeleteRange(first, last); err != nil {
		return c.unwritten(err)
	}
	return nil
}

// unwritten reports a failed write, which halts the member. Raft itself would continue as if its view of the log still matched
// the disk.
func (c *checkedLog) unwritten(err error) error {
	err = &DiskError{Path: c.path, Err: err}
	c.corrupt(err)
	return err
}

// GetLog implements raft.LogStore. failStop reports its errors.
func (c *checkedLog) GetLog(index uint64, l *raft.Log) error {
	if err := c.LogStore.GetLog(index, l); err != nil {
		return err
	}
	if err := c.verify(l); err != nil {
		return err
	}
	if l.Index != index {
		return &CorruptError{Path: c.path, Reason: fmt.Sprintf("log entry %d is stored as entry %d", l.Index, index)}
	}
	return nil
}

// writing returns the number of the write in progress; 0 if there is none.
func (c *checkedLog) writing() uint64 {
	n := c.writes.Load()
	return n * (n % 2)
}

func (c *checkedLog) verify(l *raft.Log) error {
	if len(l.Extensions) != 4 || binary.BigEndian.Uint32(l.Extensions) != logSum(l) {
		return &CorruptError{Path: c.path, Reason: fmt.Sprintf("checksum mismatch in log entry %d", l.Index)}
	}
	return nil
}

// scan reads the whole log once, so that damage is detected at start and not when an entry is needed. covered is the last
// index of the newest snapshot.
//
// scan removes the entries that the snapshot replaced: entries before a gap that the snapshot covers, see gaplessLog.
func (c *checkedLog) scan(covered uint64) error {
	first, err := c.LogStore.FirstIndex()
	if err != nil {
		return &CorruptError{Path: c.path, Reason: err.Error()}
	}
	last, err := c.LogStore.LastIndex()
	if err != nil {
		return &CorruptError{Path: c.path, Reason: err.Error()}
	}
	if first == 0 && last == 0 {
		return nil
	}
	if first > covered+1 {
		return &CorruptError{Path: c.path, Reason: fmt.Sprintf("the log begins with entry %d, but the newest snapshot ends at entry %d; a snapshot is missing", first, covered)}
	}
	var term, replaced uint64 // replaced is the last index before a gap
	for i := first; i <= last; i++ {
		var l raft.Log
		err := c.LogStore.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) && i <= covered {
			if term != 0 {
				replaced, term = i-1, 0
			}
			continue
		}
		if err != nil {
			return &CorruptError{Path: c.path, Reason: fmt.Sprintf("log entry %d of %d to %d: %v", i, first, last, err)}
		}
		if err := c.verify(&l); err != nil {
			return err
		}
		if l.Index != i || l.Term < term {
			return &CorruptError{Path: c.path, Reason: fmt.Sprintf("log entry %d of term %d stands at index %d after term %d", l.Index, l.Term, i, term)}
		}
		term = l.Term
	}
	if last < covered {
		replaced = last
	}
	if replaced == 0 {
		return nil
	}
	if err := c.LogStore.DeleteRange(first, replaced); err != nil {
		return &DiskError{Path: c.path, Err: err}
	}
	return nil
}

func logSum(l *raft.Log) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[0:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}

// checkedStable adds a checksum to raft's term and vote. A flipped bit in either could make a node vote twice in a term.
type checkedStable struct {
	raft.StableStore
	path    string
	corrupt func(error)  // called with failed writes
	stored  func() error // called after a value other than zero was stored
}

func (c *checkedStable) Set(key, val []byte) error {
	err := c.StableStore.Set(key, binary.BigEndian.AppendUint32(slices.Clip(val), stableSum(key, val)))
	if err != nil {
		err = &DiskError{Path: c.path, Err: err}
		c.corrupt(err)
		return err
	}
	if len(bytes.Trim(val, "\x00")) == 0 {
		return nil // raft stores a term of 0 if it finds none
	}
	if err := c.stored(); err != nil {
		c.corrupt(err)
		return err
	}
	return nil
}

func (c *checkedStable) Get(key []byte) ([]byte, error) {
	raw, err := c.StableStore.Get(key)
	if err != nil || len(raw) == 0 {
		return raw, err
	}
	if len(raw) < 4 {
		return nil, &CorruptError{Path: c.path, Reason: fmt.Sprintf("%s is cut off", key)}
	}
	val := raw[:len(raw)-4]
	if binary.BigEndian.Uint32(raw[len(raw)-4:]) != stableSum(key, val) {
		return nil, &CorruptError{Path: c.path, Reason: fmt.Sprintf("checksum mismatch in %s", key)}
	}
	return val, nil
}

func (c *checkedStable) SetUint64(key []byte, val uint64) error {
	return c.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

func (c *checkedStable) GetUint64(key []byte) (uint64, error) {
	val, err := c.Get(key)
	if err != nil || len(val) == 0 {
		return 0, err
	}
	if len(val) != 8 {
		return 0, &CorruptError{Path: c.path, Reason: fmt.Sprintf("%s has %d bytes, not 8", key, len(val))}
	}
	return binary.BigEndian.Uint64(val), nil
}

func stableSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, val)
}

// readBolt opens the Raft log of a member that does not run, for reading only.
func readBolt(path string) (*raftboltdb.BoltStore, *checkedLog, *checkedStable, error) {
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{Timeout: time.Second, ReadOnly: true}})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	ignore := func(error) {} // the caller reports what it reads
	return bolt, &checkedLog{LogStore: bolt, path: path, corrupt: ignore}, &checkedStable{StableStore: bolt, path: path, corrupt: ignore}, nil
}
