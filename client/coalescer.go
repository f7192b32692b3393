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
	// maxInFlight is the greatest number of requests in flight. Further callers wait until one of these is answered.
	maxInFlight = 64
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
	// send sends a request on a stream, which is faster than a call; nil if there are no streams. It returns the member, or false
	// if nothing was sent. If it returns true, it calls done once: with the answer and its error, or with the failed try, which
	// the call that follows has to know.
	send    func(b *batch[R], done func(answer R, err error, failed *former)) (member string, ok bool)
	suspect func(member string)      // reports that member has not answered in time
	slow    func(member string)      // reports that a request to member is overdue; may be nil
	alive   func(member string) bool // reports whether member answers at all; may be nil
	timeout time.Duration            // limit of callers without a deadline
	// answerTimeout is the time limit of an answer on a stream. hedge is the time after which another member is called too.
	answerTimeout, hedge time.Duration
	// suspicious is the time without an answer on a stream after which a member is suspected when the last caller has
	// stopped waiting.
	suspicious time.Duration
	hooks      *Hooks
	// divide reports whether an error of a shared request need not apply to each of its callers. If so, each caller makes
	// a call of its own. If divide is nil, each error applies to all callers.
	divide func(error) bool

	mu       sync.Mutex
	open     *batch[R]   // the batch that callers join; nil if no caller waits
	inFlight []*batch[R] // begun batches without an answer, oldest first
	fresh    int         // number of batches in flight that are not overdue
	timer    *time.Timer
	timerAt  time.Time // time at which the timer runs; zero if it is not set
	probing  bool      // check is running
}

// do returns the answer to a request that began after do was called. The caller's part of the answer is count IDs or
// numbers, starting at offset.
func (c *coalescer[R]) do(ctx context.Context, count uint64, after int64) (answer R, offset uint64, err error) {
	if err := ctx.Err(); err != nil {
		return answer, 0, interrupted(err, nil)
	}
	if _, own := rpc.Bearer(ctx); own || count > maxShared || sampled(ctx) {
		answer, err = c.single(ctx, count, after)
		return answer, 0, err
	}
	c.mu.Lock()
	b, offset := c.join(ctx, count, after)
	first := b.joined == 1
	leads := first && c.mayBegin()
	c.mu.Unlock()
	if leads {
		for range yields {
			runtime.Gosched()
		}
		if answer, err, ok := c.beginAsFirst(ctx, b); ok {
			return answer, 0, err
		}
	}
	if err := b.wait(ctx, first, c.timeout); err != nil {
		c.removeCaller(b, err)
		return answer, 0, interrupted(err, b.interim.Load())
	}
	if b.joined > 1 && c.divide != nil && c.divide(b.err) {
		answer, err = c.single(ctx, count, after)
		return answer, 0, err
	}
	return b.answer, offset, b.err
}

// single makes a call for one caller.
func (c *coalescer[R]) single(ctx context.Context, count uint64, after int64) (R, error) {
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
	if c.open != nil && c.open.count+count > limits.Texts {
		go c.dispatch(c.begin())
	}
	if c.open == nil {
		c.open = &batch[R]{first: ctx, opened: time.Now(), soon: make(chan struct{})}
		if len(c.inFlight) >= maxInFlight { // possibly a long wait
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

// mayBegin reports whether a request may begin now. Requires the lock.
func (c *coalescer[R]) mayBegin() bool { return c.fresh < window && len(c.inFlight) < maxInFlight }

// beginIfAllowed takes and returns the open batch if it may begin; otherwise nil. The caller dispatches the batch. Requires the lock.
func (c *coalescer[R]) beginIfAllowed() *batch[R] {
	if c.open == nil || !c.mayBegin() {
		return nil
	}
	return c.begin()
}

// begin begins the open batch. Requires the lock.
func (c *coalescer[R]) begin() *batch[R] {
	b := c.open
	c.open = nil
	b.began, b.fresh = time.Now(), true
	c.inFlight = append(c.inFlight, b)
	c.fresh++
	c.setTimer(b.began.Add(min(overdue, c.hedge)))
	return b
}

// beginAsFirst begins the batch of a first caller, unless it has begun. Without streams, a first caller that no other joined makes the
// call itself; ok is true then.
func (c *coalescer[R]) beginAsFirst(ctx context.Context, b *batch[R]) (answer R, err error, ok bool) { //nolint:revive // ok qualifies the other results
	c.mu.Lock()
	if c.open != b || !c.mayBegin() {
		c.mu.Unlock()
		return answer, nil, false
	}
	c.begin()
	alone := b.joined == 1 && c.send == nil
	b.calling = alone
	c.mu.Unlock()
	if !alone {
		c.dispatch(b)
		return answer, nil, false
	}
	answer, err = c.fetch(withoutMetadata(ctx), b.count, b.after)
	c.finish(b, answer, err)
	return answer, err, true
}

// dispatch sends the request of a batch that was taken.
func (c *coalescer[R]) dispatch(b *batch[R]) {
	if c.send != nil {
		member, ok := c.send(b, func(answer R, err error, failed *former) {
			if failed != nil {
				c.call(b, failed)
			} else {
				c.finish(b, answer, err)
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
	if b.calling || b.ended {
		return
	}
	b.calling = true
	// The first caller's values let a trace show the purpose of the call.
	values := context.WithValue(withoutMetadata(context.WithoutCancel(b.first)), interimKey{}, &b.interim)
	bounded, cancelBounded := context.WithDeadline(context.WithValue(values, formerKey{}, failed), b.deadline)
	ctx, cancel := context.WithCancelCause(bounded)
	b.cancel = cancel
	go func() {
		defer cancelBounded()
		answer, err := c.fetch(ctx, b.count, b.after)
		c.finish(b, answer, err)
	}()
}

// finish ends a batch with its first answer and ignores later ones. The next batch begins before the callers of this one
// wake up.
func (c *coalescer[R]) finish(b *batch[R], answer R, err error) {
	c.mu.Lock()
	if b.ended {
		c.mu.Unlock()
		return
	}
	b.ended, b.answer, b.err = true, answer, err
	if b.fresh {
		c.fresh--
	}
	at := slices.Index(c.inFlight, b)
	c.inFlight = slices.Delete(c.inFlight, at, at+1)
	if b.cancel != nil {
		b.cancel(nil)
	}
	next := c.beginIfAllowed()
	c.mu.Unlock()
	if next != nil {
		c.dispatch(next)
	}
	b.wake()
	c.hooks.batch(b.joined, b.count, err)
}

// removeCaller removes a caller that no longer waits. IDs issued for the caller are lost. The request ends when no caller waits.
func (c *coalescer[R]) removeCaller(b *batch[R], why error) {
	c.mu.Lock()
	b.callers--
	switch {
	case b.callers > 0 || b.ended:
	case c.open == b:
		c.open = nil
	case b.cancel != nil:
		b.cancel(why) // a caller's deadline shows as much about the member as a deadline of the call
	default:
		if isTimeout(why) && b.member != "" && time.Since(b.began) >= c.suspicious {
			c.suspect(b.member)
		}
		c.mu.Unlock()
		c.finish(b, b.answer, context.Canceled)
		return
	}
	c.mu.Unlock()
}
