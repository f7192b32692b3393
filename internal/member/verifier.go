package member

import (
	"context"
	"sync"
	"time"
)

// verifyTimeout bounds one verification, which nobody's deadline bounds.
const verifyTimeout = 5 * time.Second

// verifier lets many callers share a verification: all who come while one is
// under way share the next, since that begins after they came.
type verifier struct {
	verify func(context.Context) error

	mu      sync.Mutex
	next    *verification // the one that callers join; nil: none waits
	running bool
}

// verification is over when done is closed, with err as its result.
type verification struct {
	done chan struct{}
	err  error
}

// wait returns the result of a verification that began after the call.
func (v *verifier) wait(ctx context.Context) error {
	v.mu.Lock()
	mine := v.next
	if mine == nil {
		mine = &verification{done: make(chan struct{})}
		v.next = mine
	}
	if !v.running {
		v.running = true
		go v.run() //nolint:gosec // it works for all who wait, not for this request
	}
	v.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run verifies until nobody waits.
func (v *verifier) run() {
	for {
		v.mu.Lock()
		now := v.next
		v.next = nil
		if now == nil {
			v.running = false
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), verifyTimeout)
		now.err = v.verify(ctx)
		cancel()
		close(now.done)
	}
}
