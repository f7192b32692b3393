package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/broadcast"
)

// ErrEmpty is the error of a [Buffer] that has no ID now. The Buffer refills itself as soon as members issue IDs.
var ErrEmpty = errors.New("client: the buffer is empty")

// Buffer holds IDs that it fetched in advance, so that Next takes nanoseconds. It fetches IDs in the background: when
// only a part is left ([WithBufferThreshold]), and at regular intervals ([WithBufferInterval]). Its capacity follows
// the rate at which IDs are used. Its methods are safe for concurrent use.
//
// Each ID is returned to one caller or dropped. The IDs of a Buffer are from several members and are in no order. The
// age of each ID is limited ([WithBufferAge]). If you need ordered IDs, use a [Session].
//
// While no member can be reached, a Buffer issues the IDs that it holds. It fetches IDs again when a member answers.
//
// Invariants:
//
//   - An index in a chunk belongs to one caller: the caller whose atomic addition moved the
//     chunk's position past it. The position of a closed chunk stays past the end of the chunk.
//   - Only one goroutine, the filler's, appends chunks and closes them.
type Buffer struct {
	// Every call reads these two fields. Fields that are often written are on other cache lines.
	current atomic.Pointer[chunk] // the chunk that Next takes from, linked to the later ones; never nil
	mark    atomic.Uint64         // index of an ID; the caller that takes it wakes the filler
	_       [112]byte

	opts    bufferOptions
	timeout time.Duration    // limit of callers without a deadline
	wake    chan struct{}    // tells the filler that few IDs are left
	filled  broadcast.Signal // sent after each answer to the filler
	life    context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup

	starved atomic.Bool   // a caller found the buffer empty
	waited  atomic.Uint64 // calls that found the buffer empty

	mu      sync.Mutex  // guards the fields below, and makes closing and counting a chunk atomic
	stats   BufferStats // without Level, Taken and Waited
	put     uint64      // IDs ever put into the buffer
	problem error       // error of the last request for IDs; nil if it succeeded
}

// NewBuffer returns a Buffer of the IDs of a layout and begins to fill it. Close it when done. NewBuffer
// fails only if an option is invalid.
func NewBuffer(ids *IDs, opts ...BufferOption) (*Buffer, error) {
	o, err := newBufferOptions(opts)
	if err != nil {
		return nil, err
	}
	return newBuffer(func(ctx context.Context, count uint64) ([]Range, error) { return ids.fetch(ctx, count, 0) }, ids.client.opts.timeout, o), nil
}

func newBuffer(fetch func(ctx context.Context, count uint64) ([]Range, error), timeout time.Duration, o bufferOptions) *Buffer {
	b := &Buffer{opts: o, timeout: timeout, wake: make(chan struct{}, 1)}
	b.current.Store(new(chunk))
	b.life, b.cancel = context.WithCancel(context.Background())
	b.tasks.Go(newFiller(b, fetch).run)
	return b
}

// Next returns an ID. While the buffer has IDs, Next takes nanoseconds, does not wait and ignores ctx.
//
// When the buffer is empty, Next waits until ctx is done or, if ctx has no deadline, for at most the client's timeout.
// With [WithBufferNoWait], it fails at once. Its error is ErrEmpty, joined with the error of ctx if it waited, and with
// the error of the last request to the cluster if that failed. If waiting does not help, Next fails at once, such as
// with ErrClosed and ErrUnknownLayout.
func (b *Buffer) Next(ctx context.Context) (int64, error) {
	// No lock, no clock and no allocation here.
	c := b.current.Load()
	if index := c.position.Add(1) - 1; index < c.count {
		if c.start+index == b.mark.Load() {
			b.low()
		}
		return c.id(index), nil
	}
	return b.await(ctx)
}

// low wakes the filler.
func (b *Buffer) low() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// TryNext returns an ID if the buffer has one. It does not wait.
func (b *Buffer) TryNext() (id int64, ok bool) {
	for {
		c := b.current.Load()
		if c.position.Load() < c.count {
			if index := c.position.Add(1) - 1; index < c.count {
				if c.start+index == b.mark.Load() {
					b.low()
				}
				return c.id(index), true
			}
		}
		next := c.next.Load()
		if next == nil {
			return 0, false
		}
		b.current.CompareAndSwap(c, next)
	}
}

// Close stops the Buffer's goroutines and drops the IDs that it holds. Waiting calls and later calls fail with
// ErrClosed. Close returns nil.
func (b *Buffer) Close() error {
	b.cancel()
	b.tasks.Wait()
	return nil
}
