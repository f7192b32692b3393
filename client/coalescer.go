package client

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// window is the greatest number of requests in flight that are not overdue: one that a member works on, and one on its way.
	window = 2
	// overdue is the time after which a request without an answer no longer counts for the window: another request may
	// begin, so that a slow member delays no caller for longer.
	overdue = 5 * time.Millisecond
	// maxFlights is the greatest number of requests in flight. Further callers wait until one of these is answered.
	maxFlights = 64
	// yields is the number of times that a first caller yields its processor. The callers that an answer woke need two turns
	// until all of them have made their next request.
	yields = 2
	// maxShared is the greatest number of IDs or numbers that a caller may request in a shared call. A caller that requests
	// more would delay the others and would gain nothing.
	maxShared = 1000
)

// coalescer combines the requests of concurrent callers into shared requests. The first caller of a request yields, so that
// further callers can join, and then sends the request itself: no other goroutine has to wake up for that. While the window is
// full, callers wait together for the next request.
//
// Invariants: at most one caller gets a part of an answer, by its place in the batch; a request begins after the calls of all
// callers that it serves; a request ends when none of its callers waits.
type coalescer[R any] struct {
	// fetch makes a call for count IDs above a floor, or for count numbers. It retries where that is safe.
	fetch func(ctx context.Context, count uint64, after int64) (R, error)
	// ship sends a request on a stream, which is faster than a call; nil if there are no streams. It returns the member, or false
	// if nothing was sent. If it returns true, it calls landed once: with the answer and its error, or with the failed try, which
	// the call that follows has to know.
	ship    func(b *batch[R], landed func(answer R, err error, failed *former)) (member string, ok bool)
	late    func(member string)      // reports that member has not answered within the patience
	slow    func(member string)      // reports that a request to member is overdue; may be nil
	check   func(member string) bool // reports whether member answers at all; may be nil
	timeout time.Duration            // limit of callers without a deadline
	// patience is the time limit of an answer on a stream. hedge is the time after which another member is called too.
	patience, hedge time.Duration
	// suspicious is the time without an answer on a stream after which a member is suspected when the last caller has
	// stopped waiting.
	suspicious time.Duration
	hooks      *Hooks
	// divide reports whether an error of a shared request need not apply to each of its callers. If so, each caller makes
	// a call of its own. If divide is nil, each error applies to all callers.
	divide func(error) bool

	mu      sync.Mutex
	open    *batch[R]   // the batch that callers join; nil if no caller waits
	flights []*batch[R] // begun batches without an answer, oldest first
	fresh   int         // number of flights that are not overdue
	timer   *time.Timer
	wakes   time.Time // time at which the timer runs; zero if it is not set
	checks  bool      // check is running
}

// do returns the answer to a request that began after do was called. The caller's part of the answer is count IDs or
// numbers, starting at offset.
func (c *coalescer[R]) do(ctx context.Context, count uint64, after int64) (answer R, offset uint64, err error) {
	if err := ctx.Err(); err != nil {
		return answer, 0, interrupted(err, nil)
	}
	if _, own := rpc.Bearer(ctx); own || count > maxShared || sampled(ctx) {
		answer, err = c.alone(ctx, count, after)
		return answer, 0, err
	}
	c.mu.Lock()
	b, offset := c.join(ctx, count, after)
	first := b.joined == 1
	leads := first && c.room()
	c.mu.Unlock()
	if leads {
		for range yields {
			runtime.Gosched()
		}
		if answer, err, ok := c.lead(ctx, b); ok {
			return answer, 0, err
		}
	}
	if err := b.wait(ctx, first, c.timeout); err != nil {
		c.leave(b, err)
		return answer, 0, interrupted(err, b.interim.Load())
	}
	if b.joined > 1 && c.divide != nil && c.divide(b.err) {
		answer, err = c.alone(ctx, count, after)
		return answer, 0, err
	}
	return b.answer, offset, b.err
}

// alone makes a call for one caller.
func (c *coalescer[R]) alone(ctx context.Context, count uint64, after int64) (R, error) {
	answer, err := c.fetch(withoutMetadata(ctx), count, after)
	c.hooks.batch(1, count, err)
	return answer, err
}

// withoutMetadata removes the metadata that a caller adds to its own gRPC calls, because many callers may share this
// call.
func withoutMetadata(ctx context.Context) context.Context {
	if _, ok := metadata.FromOutgoingContext(ctx); ok {
		return metadata.NewOutgoingContext(ctx, nil)
	}
	return ctx
}

// join adds a caller to the open batch. Requires the lock.
func (c *coalescer[R]) join(ctx context.Context, count uint64, after int64) (b *batch[R], offset uint64) {
	deadline, bounded := ctx.Deadline()
	if c.open != nil && c.open.count+count > limits.Count {
		go c.dispatch(c.take())
	}
	if c.open == nil {
		c.open = &batch[R]{first: ctx, opened: time.Now(), soon: make(chan struct{})}
		if len(c.flights) >= maxFlights { // possibly a long wait
			c.open.slow()
		}
	}
	b = c.open
	offset = b.count
	b.callers++
	b.joined++
	b.count += count
	b.after = max(b.after, after)
	switch {
	case bounded:
	case b.done != nil: // the batch may have been open for long
		b.unbounded, deadline = true, time.Now().Add(c.timeout)
	case !b.unbounded: // the few milliseconds before the batch begins do not matter
		b.unbounded, deadline = true, b.opened.Add(c.timeout)
	}
	if deadline.After(b.deadline) {
		b.deadline = deadline
	}
	return b, offset
}

// room reports whether a request may begin now. Requires the lock.
func (c *coalescer[R]) room() bool { return c.fresh < window && len(c.flights) < maxFlights }

// next takes and returns the open batch if it may begin; otherwise nil. The caller dispatches the batch. Requires the lock.
func (c *coalescer[R]) next() *batch[R] {
	if c.open == nil || !c.room() {
		return nil
	}
	return c.take()
}

// take begins the open batch. Requires the lock.
func (c *coalescer[R]) take() *batch[R] {
	b := c.open
	c.open = nil
	b.began, b.fresh = time.Now(), true
	c.flights = append(c.flights, b)
	c.fresh++
	c.arm(b.began.Add(min(overdue, c.hedge)))
	return b
}

// lead begins the batch of a first caller, unless it has begun. Without streams, a first caller that no other joined makes the
// call itself; ok is true then.
func (c *coalescer[R]) lead(ctx context.Context, b *batch[R]) (answer R, err error, ok bool) { //nolint:revive // ok qualifies the other results
	c.mu.Lock()
	if c.open != b || !c.room() {
		c.mu.Unlock()
		return answer, nil, false
	}
	c.take()
	alone := b.joined == 1 && c.ship == nil
	b.calling = alone
	c.mu.Unlock()
	if !alone {
		c.dispatch(b)
		return answer, nil, false
	}
	answer, err = c.fetch(withoutMetadata(ctx), b.count, b.after)
	c.land(b, answer, err)
	return answer, err, true
}

// dispatch sends the request of a batch that was taken.
func (c *coalescer[R]) dispatch(b *batch[R]) {
	if c.ship != nil {
		member, ok := c.ship(b, func(answer R, err error, failed *former) {
			if failed != nil {
				c.call(b, failed)
			} else {
				c.land(b, answer, err)
			}
		})
		if ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			b.member = member
			return
		}
	}
	c.call(b, &former{})
}

// call makes a call for a batch, in a goroutine of its own, unless there was one or the batch has its answer.
func (c *coalescer[R]) call(b *batch[R], failed *former) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.calling || b.over {
		return
	}
	b.calling = true
	// The first caller's values let a trace show the purpose of the call.
	values := context.WithValue(withoutMetadata(context.WithoutCancel(b.first)), interimKey{}, &b.interim)
	bounded, stop := context.WithDeadline(context.WithValue(values, formerKey{}, failed), b.deadline)
	ctx, cancel := context.WithCancelCause(bounded)
	b.cancel = cancel
	go func() {
		defer stop()
		answer, err := c.fetch(ctx, b.count, b.after)
		c.land(b, answer, err)
	}()
}

// land ends a batch with its first answer and ignores later ones. The next batch begins before the callers of this one
// wake up.
func (c *coalescer[R]) land(b *batch[R], answer R, err error) {
	c.mu.Lock()
	if b.over {
		c.mu.Unlock()
		return
	}
	b.over, b.answer, b.err = true, answer, err
	if b.fresh {
		c.fresh--
	}
	at := slices.Index(c.flights, b)
	c.flights = slices.Delete(c.flights, at, at+1)
	if b.cancel != nil {
		b.cancel(nil)
	}
	next := c.next()
	c.mu.Unlock()
	if next != nil {
		c.dispatch(next)
	}
	b.wake()
	c.hooks.batch(b.joined, b.count, err)
}

// leave removes a caller that no longer waits. IDs issued for the caller are lost. The request ends when no caller waits.
func (c *coalescer[R]) leave(b *batch[R], why error) {
	c.mu.Lock()
	b.callers--
	switch {
	case b.callers > 0 || b.over:
	case c.open == b:
		c.open = nil
	case b.cancel != nil:
		b.cancel(why) // a caller's deadline shows as much about the member as a deadline of the call
	default:
		if isTimeout(why) && b.member != "" && time.Since(b.began) >= c.suspicious {
			c.late(b.member)
		}
		c.mu.Unlock()
		c.land(b, b.answer, context.Canceled)
		return
	}
	c.mu.Unlock()
}
