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
// a store's methods have returned. What it defers runs: a request gets the
// answer that it was refused, a leader steps down and its proposals have an
// unknown outcome. Its WaitGroup counts on deferring too, so that Shutdown finds
// the goroutines gone.
type failStop struct {
	tell   func(error) // told of the failure
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

// read takes note of an error when reading.
func (f *failStop) read(path string, err error) {
	// The second is what raft knows an absent value by.
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) && err.Error() != "not found" {
		f.fail(readError(path, err))
	}
	f.endIfFailed()
}

// stopLog is the log that raft gets.
type stopLog struct {
	raft.LogStore
	path string
	stop *failStop
}

func (s *stopLog) FirstIndex() (uint64, error) {
	s.stop.endIfFailed()
	index, err := s.LogStore.FirstIndex()
	s.stop.read(s.path, err)
	return index, err
}

func (s *stopLog) LastIndex() (uint64, error) {
	s.stop.endIfFailed()
	index, err := s.LogStore.LastIndex()
	s.stop.read(s.path, err)
	return index, err
}

func (s *stopLog) GetLog(index uint64, l *raft.Log) error {
	s.stop.endIfFailed()
	err := s.LogStore.GetLog(index, l)
	s.stop.read(s.path, err)
	return err
}

func (s *stopLog) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *stopLog) StoreLogs(logs []*raft.Log) error {
	s.stop.endIfFailed()
	err := s.LogStore.StoreLogs(logs)
	s.stop.endIfFailed()
	return err
}

func (s *stopLog) DeleteRange(first, last uint64) error {
	s.stop.endIfFailed()
	err := s.LogStore.DeleteRange(first, last)
	s.stop.endIfFailed()
	return err
}

// IsMonotonic implements raft.MonotonicLogStore.
func (s *stopLog) IsMonotonic() bool {
	m, ok := s.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// stopStable is the store of term and vote that raft gets.
type stopStable struct {
	raft.StableStore
	path string
	stop *failStop
}

func (s *stopStable) Set(key, val []byte) error {
	s.stop.endIfFailed()
	err := s.StableStore.Set(key, val)
	s.stop.endIfFailed()
	return err
}

func (s *stopStable) Get(key []byte) ([]byte, error) {
	s.stop.endIfFailed()
	val, err := s.StableStore.Get(key)
	s.stop.read(s.path, err)
	return val, err
}

func (s *stopStable) SetUint64(key []byte, val uint64) error {
	s.stop.endIfFailed()
	err := s.StableStore.SetUint64(key, val)
	s.stop.endIfFailed()
	return err
}

func (s *stopStable) GetUint64(key []byte) (uint64, error) {
	s.stop.endIfFailed()
	val, err := s.StableStore.GetUint64(key)
	s.stop.read(s.path, err)
	return val, err
}
