package client

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/limits"
)

const (
	// stagger is between the beginnings of two calls while one is under way. So a
	// member that answers slowly holds no caller back for longer.
	stagger = time.Millisecond
	// maxFlights is how many calls may be under way at once before those who come have to wait for
	// the end of one.
	maxFlights = 64
	// maxShared is how many IDs or numbers a request may ask for to share a call. Who wants more
	// would hold back the others, and has nothing to gain.
	maxShared = 1000
)

// coalescer puts the requests of concurrent callers into one call. A caller who comes while no
// call is under way has its own at once. While one is, those who come wait together, until it
// ends or the stagger has passed.
//
// Invariants: an answer's part is given to one caller at most, by its place in the batch; a call
// begins after all requests that it serves; it ends when none of them waits.
type coalescer[R any] struct {
	// fetch gets count of something, above a floor.
	fetch   func(ctx context.Context, count uint64, after int64) (R, error)
	timeout time.Duration // of callers who bring no deadline
	hooks   *Hooks
	// divide reports whether an error of a shared call need not concern each of its callers, so that
	// each gets a call of its own; nil: it never is.
	divide func(error) bool

	mu      sync.Mutex
	open    *batch[R] // takes callers in; nil: none waits
	flights int
	last    time.Time // when a call began
	timer   *time.Timer
}

// batch is callers who are served by one call.
type batch[R any] struct {
	first    context.Context // of the first caller, for its values
	callers  int             // still waiting
	joined   int
	count    uint64
	after    int64
	deadline time.Time
	cancel   context.CancelFunc // set when its call begins
	told     told               // why its call still runs

	done   chan struct{} // closed when answer and err are set
	answer R
	err    error
}

// do returns the answer of a call that began after it, and the caller's place in it: from
// offset on, count things are the caller's.
func (c *coalescer[R]) do(ctx context.Context, count uint64, after int64) (answer R, offset uint64, err error) {
	if err := ctx.Err(); err != nil {
		return answer, 0, interrupted(err, nil)
	}
	if count > maxShared {
		answer, err = c.alone(ctx, count, after)
		return answer, 0, err
	}
	c.mu.Lock()
	if c.flights == 0 {
		// No caller can join a call that has begun, so it is the caller's alone and needs no goroutine.
		c.begun()
		c.mu.Unlock()
		answer, err = c.alone(ctx, count, after)
		c.landed()
		return answer, 0, err
	}
	b, offset := c.join(ctx, count, after)
	c.mu.Unlock()
	select {
	case <-b.done:
		if b.joined > 1 && c.divide != nil && c.divide(b.err) {
			answer, err = c.alone(ctx, count, after)
			return answer, 0, err
		}
		return b.answer, offset, b.err
	case <-ctx.Done():
		c.leave(b)
		return answer, 0, interrupted(ctx.Err(), b.told.Load())
	}
}

// alone makes a call for one caller.
func (c *coalescer[R]) alone(ctx context.Context, count uint64, after int64) (R, error) {
	answer, err := c.fetch(withoutMetadata(ctx), count, after)
	c.hooks.batch(1, count, err)
	return answer, err
}

// withoutMetadata keeps what a caller adds to its own calls of gRPC out of this one, which may be
// many callers'.
func withoutMetadata(ctx context.Context) context.Context {
	if _, ok := metadata.FromOutgoingContext(ctx); ok {
		return metadata.NewOutgoingContext(ctx, nil)
	}
	return ctx
}

// join adds a caller to the open batch, while a call is in progress. Requires the lock.
func (c *coalescer[R]) join(ctx context.Context, count uint64, after int64) (b *batch[R], offset uint64) {
	deadline, bounded := ctx.Deadline()
	if c.open != nil && c.open.count+count > limits.Count {
		c.launch()
	}
	if c.open == nil {
		c.open = &batch[R]{first: ctx, done: make(chan struct{})}
	}
	b = c.open
	offset = b.count
	b.callers++
	b.joined++
	b.count += count
	b.after = max(b.after, after)
	if !bounded {
		deadline = time.Now().Add(c.timeout)
	}
	if deadline.After(b.deadline) {
		b.deadline = deadline
	}
	pause := stagger - time.Since(c.last)
	switch {
	case b.joined > 1 || c.flights >= maxFlights: // the first has arranged its call, or the end of a call does
	case pause <= 0:
		c.launch()
	case c.timer == nil:
		c.timer = time.AfterFunc(pause, c.due)
	default:
		c.timer.Reset(pause)
	}
	return b, offset
}

// due runs when the stagger has passed.
func (c *coalescer[R]) due() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil && c.flights < maxFlights && time.Since(c.last) >= stagger {
		c.launch()
	}
}

// launch begins the open batch's call. The lock is held.
func (c *coalescer[R]) launch() {
	b := c.open
	c.open = nil
	c.begun()
	// With the first caller's values a trace shows what the call was for.
	values := context.WithValue(withoutMetadata(context.WithoutCancel(b.first)), toldKey{}, &b.told)
	ctx, cancel := context.WithDeadline(values, b.deadline)
	b.first, b.cancel = nil, cancel
	go func() {
		defer cancel()
		b.answer, b.err = c.fetch(ctx, b.count, b.after)
		close(b.done)
		c.hooks.batch(b.joined, b.count, b.err)
		c.landed()
	}()
}

// begun counts a call. The lock is held.
func (c *coalescer[R]) begun() {
	c.flights++
	c.last = time.Now()
}

// landed is the end of a call: who waited has the next.
func (c *coalescer[R]) landed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flights--
	if c.open != nil {
		c.launch()
	}
}

// leave is for a caller who no longer waits. What is issued for it is lost; the call ends when no caller waits.
func (c *coalescer[R]) leave(b *batch[R]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.callers--
	if b.callers > 0 {
		return
	}
	if b.cancel != nil {
		b.cancel()
	} else if c.open == b {
		c.open = nil
	}
}
