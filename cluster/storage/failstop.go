package storage

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// failStop stands between raft and a store. Once the store has failed, raft's
// goroutines end where they call it next, and never learn the outcome. Raft
// does not stop by itself: it panics when it can't store its term or read a
// committed entry, and goes on after other errors as if nothing had happened.
//
// Nothing is answered for that was not stored: raft answers success only after
// a store's methods have returned. Its deferred functions run: a request gets the
// answer that it was refused, a leader steps down and its proposals have an
// unknown outcome. Its WaitGroup counts on deferring too, so that Shutdown finds
// the goroutines gone.
type failStop struct {
	tell   func(error) // called with the failure
	failed atomic.Bool
}

func (f *failStop) fail(err error) {
	f.failed.Store(true)
	f.tell(err)
}

// endIfFailed ends the goroutine that calls it, which is one of raft's.
func (f *failStop) endIfFailed() {
	if f.failed.Load() {
		runtime.Goexit()
	}
}

// read runs a read and takes note of its error.
func (f *failStop) read(path string, call func() error) error {
	f.endIfFailed()
	err := call()
	// The second is what raft knows an absent value by.
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) && err.Error() != "not found" {
		f.fail(readError(path, err))
	}
	f.endIfFailed()
	return err
}

// write runs a write, which takes note of its error itself.
func (f *failStop) write(call func() error) error {
	f.endIfFailed()
	err := call()
	f.endIfFailed()
	return err
}

// stopLog is the log that raft gets.
type stopLog struct {
	raft.LogStore
	path string
	stop *failStop
}

func (s *stopLog) FirstIndex() (index uint64, err error) {
	err = s.stop.read(s.path, func() (err error) { index, err = s.LogStore.FirstIndex(); return err })
	return index, err
}

func (s *stopLog) LastIndex() (index uint64, err error) {
	err = s.stop.read(s.path, func() (err error) { index, err = s.LogStore.LastIndex(); return err })
	return index, err
}

func (s *stopLog) GetLog(index uint64, l *raft.Log) error {
	return s.stop.read(s.path, func() error { return s.LogStore.GetLog(index, l) })
}

func (s *stopLog) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *stopLog) StoreLogs(logs []*raft.Log) error {
	return s.stop.write(func() error { return s.LogStore.StoreLogs(logs) })
}

func (s *stopLog) DeleteRange(first, last uint64) error {
	return s.stop.write(func() error { return s.LogStore.DeleteRange(first, last) })
}

// stopStable is the store of term and vote that raft gets.
type stopStable struct {
	raft.StableStore
	path string
	stop *failStop
}

func (s *stopStable) Set(key, val []byte) error {
	return s.stop.write(func() error { return s.StableStore.Set(key, val) })
}

func (s *stopStable) Get(key []byte) (val []byte, err error) {
	err = s.stop.read(s.path, func() (err error) { val, err = s.StableStore.Get(key); return err })
	return val, err
}

func (s *stopStable) SetUint64(key []byte, val uint64) error {
	return s.stop.write(func() error { return s.StableStore.SetUint64(key, val) })
}

func (s *stopStable) GetUint64(key []byte) (val uint64, err error) {
	err = s.stop.read(s.path, func() (err error) { val, err = s.StableStore.GetUint64(key); return err })
	return val, err
}
