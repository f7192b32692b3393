package client

import (
	"context"
	"sync"
	"time"
)

const (
	// maxCount is how many IDs or numbers one call may ask for.
	maxCount = 1_000_000
	// stagger is between the beginnings of two calls while one is under way. So a
	// member that answers slowly holds nobody back for longer.
	stagger = time.Millisecond
	// maxFlights is how many calls may be under way at once.
	maxFlights = 64
)

// coalescer puts the requests of concurrent callers into one call. A caller who comes while no
// call is under way has its own at once. While one is, those who come wait together, until it
// ends or the stagger has passed.
//
// Invariants: an answer's part is given to one caller at most, by its place in the batch; a call
// begins after all requests that it serves.
type coalescer[R any] struct {
	// fetch gets count of something, above a floor. It is called on goroutines of its own.
	fetch   func(ctx context.Context, count uint64, after uint64) (R, error)
	timeout time.Duration // of callers who bring no deadline
	hooks   *Hooks

	mu      sync.Mutex
	open    *batch[R] // takes callers in; nil: none waits
	flights int
	last    time.Time // when a call began
	timer   *time.Timer
}

// batch is callers who are served by one call.
type batch[R any] struct {
	callers  int // still waiting
	joined   int
	count    uint64
	after    uint64
	deadline time.Time
	cancel   context.CancelFunc // set when its call begins

	done   chan struct{} // closed when answer and err are set
	answer R
	err    error
}

// do returns the answer of a call that began after it, and the caller's place in it: from
// offset on, count things are the caller's.
func (c *coalescer[R]) do(ctx context.Context, count, after uint64) (answer R, offset uint64, err error) {
	if err := ctx.Err(); err != nil {
		return answer, 0, err
	}
	b, offset := c.join(ctx, count, after)
	select {
	case <-b.done:
		return b.answer, offset, b.err
	case <-ctx.Done():
		c.leave(b)
		return answer, 0, ctx.Err()
	}
}

func (c *coalescer[R]) join(ctx context.Context, count, after uint64) (b *batch[R], offset uint64) {
	deadline, bounded := ctx.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil && c.open.count+count > maxCount {
		c.launch()
	}
	if c.open == nil {
		c.open = &batch[R]{done: make(chan struct{})}
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
	c.consider()
	return b, offset
}

// consider begins the open batch's call if it is time to, or arranges for that. The lock is held.
func (c *coalescer[R]) consider() {
	if c.open == nil {
		return
	}
	if c.flights == 0 {
		c.launch()
		return
	}
	if c.open.joined > 1 || c.flights >= maxFlights {
		return // the first has arranged it, or the end of a call does
	}
	pause := stagger - time.Since(c.last)
	if pause <= 0 {
		c.launch()
		return
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(pause, c.due)
	} else {
		c.timer.Reset(pause)
	}
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
	c.flights++
	c.last = time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), b.deadline)
	b.cancel = cancel
	go c.fly(ctx, b)
}

func (c *coalescer[R]) fly(ctx context.Context, b *batch[R]) {
	b.answer, b.err = c.fetch(ctx, b.count, b.after)
	b.cancel()
	close(b.done)
	c.hooks.batch(b.joined, b.count, b.err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flights--
	if c.open != nil {
		c.launch()
	}
}

// leave is for a caller who no longer waits. What is issued for it is lost; the call ends when nobody waits.
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
