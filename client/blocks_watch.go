package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// blocksRefreshTimeout is the time limit of one request for the sequence. It also limits the delay of the first caller after a
// pause while no member can be reached.
const blocksRefreshTimeout = 2 * time.Second

// The states of use of a blocksWatch.
const (
	idle  = iota // not used since the look before the last; the next caller must look first
	quiet        // not used since the last look
	busy
)

// blocksState is the part of a sequence's state whose changes make blocks obsolete. Zero fields: not known yet.
type blocksState struct {
	generation uint64
	period     int32
}

// blocksWatch keeps a sequence's generation and period up to date while the Blocks is in use. Its goroutine runs only
// then.
type blocksWatch struct {
	use      atomic.Int32 // read by every call, written once between two looks
	revision atomic.Uint64
	latest   atomic.Pointer[blocksState]

	every     time.Duration
	query     func(ctx context.Context) (blocksState, error)
	onDeleted func() // called when the sequence does not exist any longer

	life   context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu    sync.Mutex
	first chan struct{} // closed after the first look since idle; nil if no such look is in progress
	ended bool
}

func newBlocksWatch(every time.Duration, ask func(ctx context.Context) (blocksState, error)) *blocksWatch {
	w := &blocksWatch{every: every, query: ask}
	w.latest.Store(new(blocksState))
	w.life, w.cancel = context.WithCancel(context.Background())
	return w
}

// current implements allocator.SequenceConfig.Current. Only the leader decides that a sequence does not exist, so ok is
// always true.
func (w *blocksWatch) current() (generation uint64, period int32, ok bool) {
	s := w.latest.Load()
	return s.generation, s.period, true
}

// inUse notes that numbers are taken, and reports whether the state is recent.
func (w *blocksWatch) inUse() bool {
	return w.use.Load() == busy || w.use.CompareAndSwap(quiet, busy) || w.use.Load() == busy
}

// begin waits for a look if the state is not recent, and starts the goroutine. It fails with ErrClosed or the error of ctx.
func (w *blocksWatch) begin(ctx context.Context) error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return ErrClosed
	}
	if w.inUse() {
		w.mu.Unlock()
		return nil
	}
	if w.first == nil {
		w.first = make(chan struct{})
		w.tasks.Go(w.run)
	}
	first := w.first
	w.mu.Unlock()
	select {
	case <-first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *blocksWatch) run() {
	w.refresh()
	w.mu.Lock()
	w.use.Store(busy)
	close(w.first)
	w.first = nil
	w.mu.Unlock()
	for wait(w.life, w.every, nil) {
		if !w.use.CompareAndSwap(busy, quiet) && w.use.CompareAndSwap(quiet, idle) {
			return
		}
		w.refresh()
	}
}

// refresh requests the state once. If no member answers, the state stays as it is.
func (w *blocksWatch) refresh() {
	ctx, cancel := context.WithTimeout(w.life, blocksRefreshTimeout)
	defer cancel()
	s, err := w.query(ctx)
	if err != nil {
		if errors.Is(err, ErrUnknownSequence) {
			w.onDeleted()
		}
		return
	}
	if before := w.latest.Swap(&s); s != *before {
		w.revision.Add(1) // an older state, of a replica that lags, does no harm
	}
}

// end stops the goroutine.
func (w *blocksWatch) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.tasks.Wait()
}
