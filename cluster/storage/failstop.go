package storage

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// failStop stands between raft and a store. Once the store has failed, each of raft's goroutines ends at its next call of the
// store and never learns the outcome. Raft itself does not stop: it panics when it cannot store its term or read a committed
// entry, and continues after other errors as if nothing had happened.
//
// Raft never answers success for an entry that was not stored, because it answers only after a store's method has returned.
// Its deferred functions run: a request is answered with a refusal, a leader steps down, and its proposals have an unknown
// outcome. Raft's WaitGroup is also decremented by a deferred call, so Shutdown finds the goroutines gone.
type failStop struct {
	path   string      // the store's
	report func(error) // called with each failure
	failed atomic.Bool
}

func (f *failStop) fail(err error) {
	f.failed.Store(true)
	f.report(err)
}

// endIfFailed ends the calling goroutine, one of raft's, if the store has failed.
func (f *failStop) endIfFailed() {
	if f.failed.Load() {
		runtime.Goexit()
	}
}

// read runs a read and reports its failure.
func (f *failStop) read(call func() error) error {
	f.endIfFailed()
	err := call()
	// Raft recognizes an absent value by the text "not found".
	if err != nil && !errors.Is(err, raft.ErrLogNotFound) && err.Error() != "not found" {
		f.fail(readError(f.path, err))
	}
	f.endIfFailed()
	return err
}

// write runs a write, which itself reports its failure.
func (f *failStop) write(call func() error) error {
	f.endIfFailed()
	err := call()
	f.endIfFailed()
	return err
}

// stopLog is the log that raft uses.
type stopLog struct {
	raft.LogStore
	stop *failStop
}

func (s *stopLog) FirstIndex() (uint64, error) {
	return valueOf(s.stop.read, s.LogStore.FirstIndex)
}

func (s *stopLog) LastIndex() (uint64, error) {
	return valueOf(s.stop.read, s.LogStore.LastIndex)
}

func (s *stopLog) GetLog(index uint64, l *raft.Log) error {
	return s.stop.read(func() error { return s.LogStore.GetLog(index, l) })
}

func (s *stopLog) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *stopLog) StoreLogs(logs []*raft.Log) error {
	return s.stop.write(func() error { return s.LogStore.StoreLogs(logs) })
}

func (s *stopLog) DeleteRange(first, last uint64) error {
	return s.stop.write(func() error { return s.LogStore.DeleteRange(first, last) })
}

// stopStable is the store of term and vote that raft uses.
type stopStable struct {
	raft.StableStore
	stop *failStop
}

func (s *stopStable) Set(key, val []byte) error {
	return s.stop.write(func() error { return s.StableStore.Set(key, val) })
}

func (s *stopStable) Get(key []byte) ([]byte, error) {
	return valueOf(s.stop.read, func() ([]byte, error) { return s.StableStore.Get(key) })
}

func (s *stopStable) SetUint64(key []byte, val uint64) error {
	return s.stop.write(func() error { return s.StableStore.SetUint64(key, val) })
}

func (s *stopStable) GetUint64(key []byte) (uint64, error) {
	return valueOf(s.stop.read, func() (uint64, error) { return s.StableStore.GetUint64(key) })
}

// valueOf runs a read by do and returns its value.
func valueOf[T any](do func(func() error) error, read func() (T, error)) (value T, err error) {
	err = do(func() (err error) { value, err = read(); return err })
	return value, err
}
