package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrEmpty says that a [Buffer] has no ID now. It is being filled, if that is possible.
var ErrEmpty = errors.New("client: the buffer is empty")

// Buffer holds IDs that were fetched ahead, so that Next takes nanoseconds. It is filled in
// the background: when a part is left ([WithBufferThreshold]), and at regular times. How many
// IDs it holds follows the rate at which they are used. Its methods may be called from any
// goroutine.
//
// Each ID is returned to one caller, or dropped. The IDs of a Buffer are of several members and
// have no order but that of time: each was issued at most so long ago ([WithBufferAge]). Callers that need
// an order take a [Session].
//
// When no member can be reached a Buffer issues what it holds, and recovers afterwards.
//
// Invariants:
//
//   - an index in a chunk is given to one caller, by the one atomic addition that moved the
//     chunk's position past it; a closed chunk's position is past its end forever;
//   - one goroutine, the filler's, appends chunks and closes them.
type Buffer struct {
	// Every call reads these two; what others write is on other cache lines.
	current atomic.Pointer[chunk] // what Next takes from; the chunks after it follow; never nil
	mark    atomic.Uint64         // who takes the ID of this index wakes the filler
	_       [112]byte

	opts    bufferOptions
	timeout time.Duration // of callers who bring no deadline
	wake    chan struct{} // signals to the filler that there are few IDs
	filled  bell          // rings after each answer to the filler
	life    context.Context
	stop    context.CancelFunc
	tasks   sync.WaitGroup

	starved atomic.Bool   // a caller found the buffer empty
	waited  atomic.Uint64 // calls that did

	mu      sync.Mutex  // guards what follows, and closing a chunk together with counting it
	stats   BufferStats // without what the chunks count
	put     uint64      // IDs that were put into the buffer
	problem error       // why the last request for IDs failed; nil if it did not
}

// NewBuffer returns a Buffer of the IDs of a layout and begins to fill it. Close it when done. It
// fails only if an option is wrong.
func NewBuffer(ids *IDs, opts ...BufferOption) (*Buffer, error) {
	o, err := newBufferOptions(opts)
	if err != nil {
		return nil, err
	}
	return newBuffer(func(ctx context.Context, count uint64) ([]Range, error) { return ids.fetch(ctx, count, 0) }, ids.client.opts.timeout, o), nil
}

func newBuffer(fetch func(ctx context.Context, count uint64) ([]Range, error), timeout time.Duration, o bufferOptions) *Buffer {
	b := &Buffer{opts: o, timeout: timeout, wake: make(chan struct{}, 1)}
	b.filled.init()
	b.current.Store(new(chunk))
	b.life, b.stop = context.WithCancel(context.Background())
	b.tasks.Go(newFiller(b, fetch).run)
	return b
}

// Next returns an ID. While there are any it takes nanoseconds, waits for nothing and does not look
// at ctx.
//
// When the buffer is empty it waits as long as ctx allows, or, without a deadline, for the client's timeout;
// [WithBufferNoWait] makes it fail at once. Its errors are ErrEmpty, with that of ctx, if it
// waited, and with why the cluster gave no IDs, if it did not; ErrClosed; and at once what does not
// end by waiting, such as ErrUnknownLayout.
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

// take is Next if there are IDs. It moves on from chunks that are used up.
func (b *Buffer) take() (id int64, ok bool) {
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

// Close ends the Buffer and its goroutines, and drops the IDs that it holds. Calls that wait fail with ErrClosed,
// and so do later ones. It returns nil.
func (b *Buffer) Close() error {
	b.stop()
	b.tasks.Wait()
	return nil
}
