package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// blocksLook bounds one question for a sequence, and so how long Blocks that were not in use hold their
// first caller up when no member can be reached.
const blocksLook = 2 * time.Second

// The uses of a blocksWatch.
const (
	idle  = iota // not used since the look before the last: whoever comes has to look first
	quiet        // not used since the last look
	busy
)

// blocksState is the part of a sequence that outdates blocks; 0 is not known yet.
type blocksState struct {
	generation uint64
	period     int32
}

// blocksWatch knows a sequence's generation and period, by requesting them while they are
// in use. There is a goroutine only then.
type blocksWatch struct {
	use      atomic.Int32 // read by every call, and written once between two looks
	revision atomic.Uint64
	latest   atomic.Pointer[blocksState]

	every time.Duration
	ask   func(ctx context.Context) (blocksState, error)
	gone  func() // the sequence is gone

	life  context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu    sync.Mutex
	first chan struct{} // closed when the first look after idle is through; nil: none is in progress
	ended bool
}

func newBlocksWatch(every time.Duration, ask func(ctx context.Context) (blocksState, error)) *blocksWatch {
	w := &blocksWatch{every: every, ask: ask}
	w.latest.Store(new(blocksState))
	w.life, w.stop = context.WithCancel(context.Background())
	return w
}

// current is allocator.SequenceConfig.Current. That a sequence is gone is for the leader to say.
func (w *blocksWatch) current() (generation uint64, period int32, ok bool) {
	s := w.latest.Load()
	return s.generation, s.period, true
}

// inUse notes that numbers are taken, and reports whether a caller looked lately.
func (w *blocksWatch) inUse() bool {
	return w.use.Load() == busy || w.use.CompareAndSwap(quiet, busy) || w.use.Load() == busy
}

// begin looks if no caller has lately, and keeps looking. It fails with ErrClosed and with the error of ctx.
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
	w.look()
	w.mu.Lock()
	w.use.Store(busy)
	close(w.first)
	w.first = nil
	w.mu.Unlock()
	for wait(w.life, w.every, nil) {
		if !w.use.CompareAndSwap(busy, quiet) && w.use.CompareAndSwap(quiet, idle) {
			return
		}
		w.look()
	}
}

// look asks once. If no member answers, all stays as it is.
func (w *blocksWatch) look() {
	ctx, cancel := context.WithTimeout(w.life, blocksLook)
	defer cancel()
	s, err := w.ask(ctx)
	if err != nil {
		if errors.Is(err, ErrUnknownSequence) {
			w.gone()
		}
		return
	}
	if before := w.latest.Swap(&s); s != *before {
		w.revision.Add(1) // a state that is older, because some replica is late, changes nothing
	}
}

// end ends the goroutine.
func (w *blocksWatch) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.stop()
	w.tasks.Wait()
}
