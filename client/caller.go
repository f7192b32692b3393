package client

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/receipt"
	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// firstPause is the pause after the first round in which all members failed; it doubles up to longestPause.
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// electionTime is the time for which one-shot calls are retried at members that expect to answer in a
	// moment. An election takes less.
	electionTime = 2 * time.Second
)

// caller makes calls. If a member fails, it retries the call at another member where that is safe. Its errors are
// an [*Error] or ErrClosed.
type caller struct {
	opts     *options
	standing *standing
	receipts *receipt.Latest // those of all channels of a client
	life     context.Context // ends when the channel is closed
	conn     grpc.ClientConnInterface
	// fallback has connections to members that conn considers unhealthy; may be nil. While conn has no healthy
	// member, the caller uses fallback, because its members at least return the reason for a refusal.
	fallback grpc.ClientConnInterface
}

// interimKey is the context key of an *interim.
type interimKey struct{}

// interim holds the error that a call would return now, with the errors of all members. It is returned to callers that stop
// waiting before the call ends.
type interim = atomic.Pointer[Error]

// formerKey is the context key of a *former.
type formerKey struct{}

// former is a try on a stream that preceded the call.
type former struct {
	member string // empty if there was no such try
	err    error  // nil while the try is in progress
}

// errSlow is the error of a try at a member that has not answered in time.
var errSlow = status.Error(codes.DeadlineExceeded, "no answer in time")

// invoke makes a call with as many tries as needed until its deadline.
func (c *caller) invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	ctx, cancel := bounded(ctx, c.opts.timeout)
	defer cancel()
	call := newCall(ctx, c, method, req, opts)
	limit, pause := call.policy.tryTimeout, firstPause
	before, _ := ctx.Value(formerKey{}).(*former)
	if before != nil && before.member != "" {
		call.unknown = c.explained(errSlow, before.member)
	}
	for ; ; before = nil {
		t, err := call.attempt(ctx, before, limit, reply)
		if err == nil {
			return nil
		}
		member, others := t.chosen()
		e := c.explained(err, member)
		e.careful = !call.policy.harmless
		sent := member != "" && !e.Unsent
		if sent && e.unknown() {
			call.unknown = e
		}
		if c.life.Err() != nil {
			return call.closed()
		}
		interrupted := ctx.Err()
		if interrupted == nil || call.before == nil && (c.opts.oneShot || len(call.round) == 0) {
			call.addError(e)
		}
		switch {
		case interrupted != nil && sent && e.careful:
			e.cause = interrupted
			return call.finalError(e) // possibly done, unlike the tries before
		case interrupted != nil:
			return call.failure(interrupted)
		case !call.policy.again(e, sent):
			return call.finalError(e)
		case others:
			continue
		case call.givesUp():
			return call.withOthers(call.mostSpecific())
		}
		// All available members have failed.
		if err := c.backOff(ctx, pause, call.mostSpecific()); c.life.Err() != nil {
			return call.closed()
		} else if err != nil {
			return call.failure(err)
		}
		call.nextRound()
		limit, pause = min(2*limit, time.Hour), min(2*pause, longestPause) // no overflow, however long the call lasts
	}
}

// explained returns an error of gRPC as an error of this package.
func (c *caller) explained(err error, member string) *Error {
	e := newError(err, member)
	e.explain(c.standing.known())
	return e
}

// backOff waits before the next round. Its error is the reason why there is no next round.
func (c *caller) backOff(ctx context.Context, pause time.Duration, e *Error) error {
	pause = max(pause, min(e.RetryAfter, longestPause))
	pause += rand.N(pause/4 + 1) // spreads the retries of concurrent callers
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	// If no worker is granted, the call fails at once, because that may last minutes.
	if left < firstPause || (e.Reason == rpc.WorkersExhausted || e.Reason == rpc.Fenced) && e.RetryAfter > left {
		return context.DeadlineExceeded
	}
	if wait(ctx, min(pause, left/2), c.life.Done()) {
		return nil
	}
	return ctx.Err()
}
