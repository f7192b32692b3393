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
	// window is the number of requests without an answer while each is answered soon: one that members work on, and one on its way.
	window = 2
	// overdue is the time after which an answer counts as late: another request may begin beside it, so that a
	// member that answers slowly holds no caller back for longer.
	overdue = 5 * time.Millisecond
	// maxFlights is the greatest number of requests without an answer. Further callers wait until one is answered.
	maxFlights = 64
	// yields is how often a first caller gives way. The callers that an answer woke need two turns until all have asked again.
	yields = 2
	// maxShared is the greatest number of IDs or numbers that a caller may request to share a call. A caller that wants more
	// would hold back the others, and has nothing to gain.
	maxShared = 1000
)

// coalescer puts what concurrent callers request into one request. The first caller gives way, so that those who are about
// to ask come along, and sends the request itself; no other goroutine has to wake up for that. While as many requests as the
// window have no answer yet, callers wait together for the next.
//
// Invariants: a part of an answer is given to one caller at most, by its place in the batch; a request
// begins after all callers that it serves; it ends when none of them waits.
type coalescer[R any] struct {
	// fetch makes a call for count of something, above a floor, and tries again where that is safe.
	fetch func(ctx context.Context, count uint64, after int64) (R, error)
	// ship sends a request on a stream, the shorter way; nil: there is none. It returns the member, or false if nothing was sent.
	// If it returns true, landed is called once: with the answer; or with what a call has to know of the try that failed.
	ship    func(b *batch[R], landed func(answer R, err error, failed *former)) (member string, ok bool)
	late    func(member string)      // has not answered within the patience
	slow    func(member string)      // has not answered before the request is overdue; may be nil
	check   func(member string) bool // whether it answers anything; may be nil
	timeout time.Duration            // of callers that bring no deadline
	// patience is the time for an answer on a stream, and hedge the time after which another member is asked too.
	patience, hedge time.Duration
	// suspicious is the silence on a stream after which a member is suspected if no caller waits any longer.
	suspicious time.Duration
	hooks      *Hooks
	// divide reports whether an error of a shared request need not concern each of its callers, so that
	// each gets a call of its own; nil: it never does.
	divide func(error) bool

	mu      sync.Mutex
	open    *batch[R]   // takes callers in; nil: none waits
	flights []*batch[R] // without an answer, the oldest first
	fresh   int         // of flights: not overdue
	timer   *time.Timer
	wakes   time.Time // when the timer runs; zero: it does not
	checks  bool      // check runs
}

// do returns the answer to a request that began after it was called, and the caller's place in the answer: from
// offset on, count things are the caller's.
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
	if err := b.wait(ctx, first); err != nil {
		c.leave(b, err)
		return answer, 0, interrupted(err, b.told.Load())
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

// withoutMetadata keeps what a caller adds to its own calls of gRPC out of this one, which may be
// many callers'.
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
		if len(c.flights) == maxFlights { // it may have to wait for long
			c.open.slow()
		}
	}
	b = c.open
	offset = b.count
	b.callers++
	b.joined++
	b.count += count
	b.after = max(b.after, after)
	if !bounded && !b.unbounded { // a batch waits for milliseconds before it begins
		b.unbounded, deadline = true, b.opened.Add(c.timeout)
	}
	if deadline.After(b.deadline) {
		b.deadline = deadline
	}
	return b, offset
}

// room reports whether a request may begin now. Requires the lock.
func (c *coalescer[R]) room() bool { return c.fresh < window && len(c.flights) < maxFlights }

// next returns the open batch if it may begin; the caller dispatches it. Requires the lock.
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

// lead begins the batch of a first caller, unless that was done already. Without a stream, a caller that stayed alone makes its
// call itself, and ok is true.
func (c *coalescer[R]) lead(ctx context.Context, b *batch[R]) (answer R, err error, ok bool) { //nolint:revive // ok tells what the others are
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
	// With the first caller's values a trace shows what the call was for.
	values := context.WithValue(withoutMetadata(context.WithoutCancel(b.first)), toldKey{}, &b.told)
	bounded, stop := context.WithDeadline(context.WithValue(values, formerKey{}, failed), b.deadline)
	ctx, cancel := context.WithCancelCause(bounded)
	b.cancel = cancel
	go func() {
		defer stop()
		answer, err := c.fetch(ctx, b.count, b.after)
		c.land(b, answer, err)
	}()
}

// land ends a batch with its first answer. The batch that waits begins before the callers of this one wake up.
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

// leave is for a caller that no longer waits. IDs issued for it are lost; the request ends when no caller waits.
func (c *coalescer[R]) leave(b *batch[R], why error) {
	c.mu.Lock()
	b.callers--
	switch {
	case b.callers > 0 || b.over:
	case c.open == b:
		c.open = nil
	case b.cancel != nil:
		b.cancel(why) // a deadline of the caller says as much about the member as one of the call
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
