package client

import (
	"context"
	"time"
)

// longSince is the time after which a batch that a caller joins is over or slow, on a machine that is not too busy to
// run timers in time: it begins when another one is overdue, and is overdue itself after the same time.
const longSince = 4 * overdue

// batch is callers that one request serves. Its fields are guarded by the coalescer's lock, except as noted.
type batch[R any] struct {
	first     context.Context // of the first caller, for its values
	opened    time.Time       // when the first caller came; never changes
	callers   int             // still waiting
	joined    int
	count     uint64
	after     int64
	deadline  time.Time // the latest of the callers' deadlines
	unbounded bool      // a caller has none, and counts as one with the timeout
	told      told      // why its call still runs

	began   time.Time
	fresh   bool                    // not overdue
	member  string                  // that has the request on a stream
	calling bool                    // a call was made, or is about to be
	cancel  context.CancelCauseFunc // of that call
	checked bool                    // its member was checked
	over    bool                    // answer and err are set

	soon   chan struct{} // closed once the batch is over or slow
	done   chan struct{} // closed once a slow batch is over; nil unless it is slow, and set before soon is closed
	answer R             // read after soon or done is closed
	err    error         // read after soon or done is closed
}

// wait waits for the answer; its error is that of a context that ended before. Only the first caller waits for its context from
// the start: the locks of two channels are most of the cost of waking a caller among many. The others may notice that their contexts
// were canceled only when the batch is slow, after some 10 ms.
func (b *batch[R]) wait(ctx context.Context, first bool) error {
	if deadline, ok := ctx.Deadline(); !first && (!ok || deadline.Sub(b.opened) > longSince) {
		<-b.soon
	} else if err := receive(ctx, b.soon); err != nil {
		return err
	}
	if b.done == nil {
		return nil
	}
	return receive(ctx, b.done)
}

// receive waits until a channel is closed, or returns the error of a context that ended before.
func receive(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slow lets callers notice the end of their contexts at once. Requires the coalescer's lock, and that the batch is not over.
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
