package storage

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// StuckTimeout is how long to wait for a disk that may never answer.
const StuckTimeout = 2 * time.Second

// guardedBolt returns an error where bbolt panics. It maps its file into memory: a
// page that the disk does not give is a memory fault there and not an error of a
// system call, and it trusts what is in the pages. Without the guard either would
// end the process, with nothing said but the stacks of its goroutines.
//
// After the first panic bbolt is not entered any more: its locks may be held for
// ever, and what it has in memory may not be what is on disk.
type guardedBolt struct {
	bolt   boltStore
	broken atomic.Pointer[brokenPages] // nil until the first panic
}

// boltStore is what raftboltdb.BoltStore does.
type boltStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// brokenPages says why bbolt panicked.
type brokenPages struct {
	reason     string
	unreadable bool // the disk did not give a page
}

func (e *brokenPages) Error() string { return e.reason }

// catch sets the error to why bbolt panicked, if it does: defer g.catch(&err)().
func (g *guardedBolt) catch(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			g.broken.CompareAndSwap(nil, newBrokenPages(r))
			*err = g.broken.Load()
		}
	}
}

func newBrokenPages(panicked any) *brokenPages {
	if fault, ok := panicked.(interface{ Addr() uintptr }); ok { // see debug.SetPanicOnFault
		return &brokenPages{reason: fmt.Sprintf("a page can't be read: memory fault at %#x", fault.Addr()), unreadable: true}
	}
	return &brokenPages{reason: fmt.Sprint(panicked)}
}

// err is why bbolt must not be entered; nil if it may.
func (g *guardedBolt) err() error {
	if b := g.broken.Load(); b != nil {
		return b
	}
	return nil
}

// FirstIndex implements raft.LogStore.
func (g *guardedBolt) FirstIndex() (index uint64, err error) {
	if err := g.err(); err != nil {
		return 0, err
	}
	defer g.catch(&err)()
	return g.bolt.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (g *guardedBolt) LastIndex() (index uint64, err error) {
	if err := g.err(); err != nil {
		return 0, err
	}
	defer g.catch(&err)()
	return g.bolt.LastIndex()
}

// GetLog implements raft.LogStore.
func (g *guardedBolt) GetLog(index uint64, l *raft.Log) (err error) {
	if err := g.err(); err != nil {
		return err
	}
	defer g.catch(&err)()
	return g.bolt.GetLog(index, l)
}

// StoreLog implements raft.LogStore.
func (g *guardedBolt) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (g *guardedBolt) StoreLogs(logs []*raft.Log) (err error) {
	if err := g.err(); err != nil {
		return err
	}
	defer g.catch(&err)()
	return g.bolt.StoreLogs(logs)
}

// DeleteRange implements raft.LogStore.
func (g *guardedBolt) DeleteRange(first, last uint64) (err error) {
	if err := g.err(); err != nil {
		return err
	}
	defer g.catch(&err)()
	return g.bolt.DeleteRange(first, last)
}

// Set implements raft.StableStore.
func (g *guardedBolt) Set(key, val []byte) (err error) {
	if err := g.err(); err != nil {
		return err
	}
	defer g.catch(&err)()
	return g.bolt.Set(key, val)
}

// Get implements raft.StableStore.
func (g *guardedBolt) Get(key []byte) (val []byte, err error) {
	if err := g.err(); err != nil {
		return nil, err
	}
	defer g.catch(&err)()
	return g.bolt.Get(key)
}

// SetUint64 and GetUint64 are of raft.StableStore; checkedStable does without.
func (g *guardedBolt) SetUint64([]byte, uint64) error { return errors.ErrUnsupported }

// GetUint64 implements raft.StableStore.
func (g *guardedBolt) GetUint64([]byte) (uint64, error) { return 0, errors.ErrUnsupported }

// close closes the file, unless bbolt panicked: the end of the process does that
// too. It gives up after StuckTimeout, as a write that hangs has the lock.
func (g *guardedBolt) close() error {
	if g.err() != nil {
		return nil //nolint:nilerr // why was told already
	}
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer g.catch(&err)()
		err = g.bolt.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(StuckTimeout):
		return errors.New("the Raft log can't be closed: its disk does not answer")
	}
}
