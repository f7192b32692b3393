package client

import (
	"context"
	"time"
)

// slowAtLatest is the time after which a batch that a caller joins is over or slow, if the machine is not too busy to run
// timers in time. A waiting batch begins at the latest when another batch is overdue, and is itself overdue after the
// same time.
const slowAtLatest = 4 * overdue

// grace is the time after the client's timeout for which a caller without a deadline still waits for its request. The error
// of a request whose deadline has passed is more specific than the caller's own.
const grace = 10 * time.Millisecond

// batch is a group of callers that one request serves. The coalescer's lock guards its fields, except as noted.
type batch[R any] struct {
	first     context.Context // the first caller's; read for its values only
	opened    time.Time       // arrival of the first caller; never changes
	callers   int             // callers that still wait
	joined    int
	count     uint64
	after     int64
	deadline  time.Time // the latest of the callers' deadlines
	unbounded bool      // a caller has no deadline; the coalescer's timeout applies to it
	interim   interim   // errors of the call so far

	began   time.Time
	fresh   bool                    // not overdue
	member  string                  // address of the member that has the request on a stream; empty if none
	calling bool                    // a call was made or is about to be made
	cancel  context.CancelCauseFunc // cancels that call
	probed  bool                    // the member was checked by checkOn
	ended   bool                    // answer and err are set

	soon   chan struct{} // closed once the batch is over or slow
	done   chan struct{} // closed once a slow batch is over; nil unless it is slow, and set before soon is closed
	answer R             // read after soon or done is closed
	err    error         // read after soon or done is closed
}

// wait waits for the answer. If the context ends before, or if it has no deadline and the timeout has passed, wait returns
// the error of the context. Only the first caller and callers with an early deadline wait for their contexts from the start,
// because the locks of two channels are most of the cost of waking a caller among many. Other callers may notice only when
// the batch is slow, after some 10 ms, that their contexts were canceled.
func (b *batch[R]) wait(ctx context.Context, first bool, timeout time.Duration) error {
	deadline, ok := ctx.Deadline()
	if !first && (!ok || deadline.Sub(b.opened) > slowAtLatest) {
		<-b.soon
	} else if err := receive(ctx, b.soon); err != nil {
		return err
	}
	if b.done == nil {
		return nil
	}
	if !ok { // the deadlines of other callers may be later, and so may the answer of a stream
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout+grace) // the caller has just come, or has waited for some ms
		defer cancel()
	}
	return receive(ctx, b.done)
}

// receive waits until a channel is closed. If the context ends before, receive returns the error of the context.
func receive(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slow lets callers notice at once that their contexts ended. Requires the coalescer's lock and that the batch is not over.
func (b *batch[R]) slow() {
	if b.done == nil {
		b.done = make(chan struct{})
		close(b.soon)
	}
}

// wake wakes the callers of a batch that is over. It is called once.
func (b *batch[R]) wake() {
	if b.done != nil {
		close(b.done)
	} else {
		close(b.soon)
	}
}
