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

// StuckTimeout is the time to wait for a disk that may never respond.
const StuckTimeout = 2 * time.Second

// guardedBolt returns an error where bbolt panics. bbolt maps its file into memory, so a page that the disk cannot read causes
// a memory fault instead of an error of a system call. bbolt also trusts the content of the pages. Without the guard, either
// would crash the process with no message except the stacks of its goroutines.
//
// After the first panic, bbolt is not called again: its locks may be held permanently, and its memory may differ from the
// disk.
type guardedBolt struct {
	bolt   boltStore
	broken atomic.Pointer[brokenPages] // nil until the first panic
}

// boltStore is the interface of raftboltdb.BoltStore.
type boltStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// brokenPages is the error after a panic of bbolt.
type brokenPages struct {
	reason     string
	unreadable bool // true if the disk could not read a page
}

func (e *brokenPages) Error() string { return e.reason }

// do calls enter, which calls bbolt. If bbolt panics, or has panicked before, do returns a brokenPages.
func (g *guardedBolt) do(enter func() error) (err error) {
	if b := g.broken.Load(); b != nil {
		return b
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			g.broken.CompareAndSwap(nil, newBrokenPages(r))
			err = g.broken.Load()
		}
	}()
	return enter()
}

func newBrokenPages(panicked any) *brokenPages {
	if fault, ok := panicked.(interface{ Addr() uintptr }); ok { // see debug.SetPanicOnFault
		return &brokenPages{reason: fmt.Sprintf("page cannot be read: memory fault at %#x", fault.Addr()), unreadable: true}
	}
	return &brokenPages{reason: fmt.Sprint(panicked)}
}

// FirstIndex implements raft.LogStore.
func (g *guardedBolt) FirstIndex() (uint64, error) {
	return valueOf(g.do, g.bolt.FirstIndex)
}

// LastIndex implements raft.LogStore.
func (g *guardedBolt) LastIndex() (uint64, error) {
	return valueOf(g.do, g.bolt.LastIndex)
}

// GetLog implements raft.LogStore.
func (g *guardedBolt) GetLog(index uint64, l *raft.Log) error {
	return g.do(func() error { return g.bolt.GetLog(index, l) })
}

// StoreLog implements raft.LogStore.
func (g *guardedBolt) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (g *guardedBolt) StoreLogs(logs []*raft.Log) error {
	return g.do(func() error { return g.bolt.StoreLogs(logs) })
}

// DeleteRange implements raft.LogStore.
func (g *guardedBolt) DeleteRange(first, last uint64) error {
	return g.do(func() error { return g.bolt.DeleteRange(first, last) })
}

// Set implements raft.StableStore.
func (g *guardedBolt) Set(key, val []byte) error {
	return g.do(func() error { return g.bolt.Set(key, val) })
}

// Get implements raft.StableStore.
func (g *guardedBolt) Get(key []byte) ([]byte, error) {
	return valueOf(g.do, func() ([]byte, error) { return g.bolt.Get(key) })
}

// SetUint64 implements raft.StableStore. checkedStable calls neither it nor GetUint64.
func (g *guardedBolt) SetUint64([]byte, uint64) error { return errors.ErrUnsupported }

// GetUint64 implements raft.StableStore.
func (g *guardedBolt) GetUint64([]byte) (uint64, error) { return 0, errors.ErrUnsupported }

// close closes the file, unless bbolt panicked; then the file closes with the process. It gives up after StuckTimeout, because
// a write that hangs holds the lock.
func (g *guardedBolt) close() error {
	if g.broken.Load() != nil {
		return nil //nolint:nilerr // the reason was reported already
	}
	done := make(chan error, 1)
	go func() { done <- g.do(g.bolt.Close) }()
	select {
	case err := <-done:
		return err
	case <-time.After(StuckTimeout):
		return errors.New("the Raft log is not closed, because its disk does not respond")
	}
}
