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
