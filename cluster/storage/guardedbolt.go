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
	through
	bolt   io.Closer
	broken atomic.Pointer[brokenPages] // nil until the first panic
}

// boltStore is the interface of raftboltdb.BoltStore.
type boltStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

func newGuardedBolt(bolt boltStore) *guardedBolt {
	g := &guardedBolt{bolt: bolt}
	g.through = through{bolt, bolt, g.do, g.do}
	return g
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
