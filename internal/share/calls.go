// Package share lets many callers share one call for numbers. While a call for a sequence is in progress, further callers
// wait, and the next call serves as many of them as it can. The main type is [Calls].
package share

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Key identifies callers that may share a call. They request the same sequence on behalf of the same principal, so that each
// call has one principal.
type Key struct {
	Sequence  string
	Principal any // comparable; nil where all callers are alike
}

// Divisible is an answer that can be divided among callers.
type Divisible[A any] interface {
	// Part returns the count numbers that follow the first skip ones.
	Part(skip, count uint64) A
}

// Caller receives the answer to [Calls.Start].
type Caller[A any] interface {
	// Answered gets the caller's part of the answer, or the error of the call. It runs on a goroutine that serves other
	// callers after it, so it must not wait.
	Answered(answer A, err error)
}

// Calls makes calls that several callers share. At most one call per key is in progress. It is safe
// for concurrent use.
type Calls[A Divisible[A]] struct {
	call    func(ctx context.Context, key Key, count uint64) (A, error)
	alone   func(error) bool
	limit   uint64
	timeout time.Duration

	mu sync.Mutex
	// waiting holds the requests that no call serves yet, in the order in which they came. A key has an entry while its
	// requests wait or a call serves them.
	waiting map[Key][]request[A]
	gather  *gathering // nil if calls begin at once
}

// request is one caller's part of a call.
type request[A any] struct {
	caller Caller[A]
	count  uint64 // numbers wanted
}

// New returns Calls. Each call requests at most limit numbers, or all that one caller wants, and lasts
// at most timeout, which 0 leaves to call. If alone reports that a failure need not concern all callers of a call, each of
// them is served by a call of its own. call runs on a goroutine of Calls, with a context that has no
// values of the callers' contexts and does not end with them.
func New[A Divisible[A]](limit uint64, timeout time.Duration, alone func(error) bool,
	call func(ctx context.Context, key Key, count uint64) (A, error)) *Calls[A] {
	return &Calls[A]{call: call, alone: alone, limit: limit, timeout: timeout, waiting: make(map[Key][]request[A])}
}

// Gather makes each call wait some microseconds for further requests, where waiting makes calls serve more of them. It
// must be called before any request.
func (c *Calls[A]) Gather() { c.gather = new(gathering) }

// Do returns the caller's part of the answer to a call that began after Do was called. If ctx ends
// first, Do returns the error of ctx; numbers of a call in progress for the caller are then never
// issued.
func (c *Calls[A]) Do(ctx context.Context, key Key, count uint64) (answer A, err error) {
	mine := &waiter[A]{done: make(chan struct{})}
	c.Start(key, count, mine)
	select {
	case <-mine.done:
		return mine.answer, mine.err
	case <-ctx.Done():
		c.cancel(key, mine)
		return answer, ctx.Err()
	}
}

// waiter is the Caller of Do. After done is closed, answer and err are set.
type waiter[A any] struct {
	done   chan struct{}
	answer A
	err    error
}

func (w *waiter[A]) Answered(answer A, err error) {
	w.answer, w.err = answer, err
	close(w.done)
}

// Begin is Do without a wait: done takes the outcome once, as [Caller.Answered] does, or when ctx ends.
func (c *Calls[A]) Begin(ctx context.Context, key Key, count uint64, done func(A, error)) {
	mine := &callback[A]{done: done}
	mine.stop = context.AfterFunc(ctx, func() {
		c.cancel(key, mine)
		var none A
		mine.end(none, ctx.Err())
	})
	c.Start(key, count, mine)
}

// callback is the Caller of Begin.
type callback[A any] struct {
	done  func(A, error)
	stop  func() bool // stops waiting for the end of the context
	ended atomic.Bool
}

func (b *callback[A]) Answered(answer A, err error) {
	b.stop()
	b.end(answer, err)
}

func (b *callback[A]) end(answer A, err error) {
	if !b.ended.Swap(true) {
		b.done(answer, err)
	}
}

// Start requests count numbers for a caller, by a call that begins after Start was called, and does not wait for the answer.
func (c *Calls[A]) Start(key Key, count uint64, caller Caller[A]) {
	c.mu.Lock()
	waiting, serving := c.waiting[key]
	c.waiting[key] = append(waiting, request[A]{caller, count})
	c.mu.Unlock()
	if !serving {
		go c.serve(key)
	}
}

// cancel removes the request of a caller unless a call serves it already.
func (c *Calls[A]) cancel(key Key, caller Caller[A]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.waiting[key]; ok {
		c.waiting[key] = slices.DeleteFunc(waiting, func(r request[A]) bool { return r.caller == caller })
	}
}

// serve makes calls for a key until no request waits.
func (c *Calls[A]) serve(key Key) {
	for {
		for c.gathers(key) {
			yield()
		}
		batch, total := c.take(key)
		if len(batch) == 0 {
			return
		}
		answer, err := c.fetch(key, total)
		alone := len(batch) > 1 && c.alone(err)
		var given uint64
		for _, r := range batch {
			switch {
			case alone:
				r.caller.Answered(c.fetch(key, r.count))
			case err != nil:
				r.caller.Answered(answer, err)
			default:
				r.caller.Answered(answer.Part(given, r.count), nil)
			}
			given += r.count
		}
	}
}

// gathers reports whether the next call for a key waits for further requests.
func (c *Calls[A]) gathers(key Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gather != nil && c.gather.longer(len(c.waiting[key]))
}

// take returns the requests that the next call serves, and the sum of the numbers that they want. If no request waits, it
// returns none, and the next Start serves the key.
func (c *Calls[A]) take(key Key) (batch []request[A], total uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting[key]
	if c.gather != nil {
		c.gather.ended(len(waiting))
	}
	if len(waiting) == 0 {
		delete(c.waiting, key)
		return nil, 0
	}
	n := 0
	for n < len(waiting) && (n == 0 || total+waiting[n].count <= c.limit) {
		total += waiting[n].count
		n++
	}
	c.waiting[key] = waiting[n:]
	return waiting[:n:n], total
}

func (c *Calls[A]) fetch(key Key, count uint64) (A, error) {
	ctx := context.Background()
	if c.timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		ctx = bounded
	}
	return c.call(ctx, key, count)
}
