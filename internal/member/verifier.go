package member

import (
	"context"
	"sync"
	"time"
)

// verifyTimeout bounds a verification that callers share, because it has no caller's deadline.
const verifyTimeout = 5 * time.Second

// enoughAlone is the number of verifications in a row that serve one caller each, before callers verify themselves.
const enoughAlone = 8

// verifier lets many callers share a verification. All callers that come while a verification runs share the next one,
// which begins after they came. While callers come one at a time, each verifies in its own goroutine, so that no other
// goroutine must wake up.
type verifier struct {
	verify func(context.Context) error

	mu      sync.Mutex
	next    *verification // joined by callers; nil if no caller waits
	running bool
	alone   int // number of verifications in a row that served one caller each
}

// verification is one verification for several callers. When done is closed, err is its result.
type verification struct {
	callers int
	done    chan struct{}
	err     error
}

// wait returns the result of a verification that began after the call.
func (v *verifier) wait(ctx context.Context) error {
	v.mu.Lock()
	if !v.running && v.alone >= enoughAlone {
		v.running = true
		v.mu.Unlock()
		return v.verifyAlone(ctx)
	}
	mine := v.next
	if mine == nil {
		mine = &verification{done: make(chan struct{})}
		v.next = mine
	}
	mine.callers++
	if !v.running {
		v.running = true
		go v.run() //nolint:gosec // run works for all waiting callers, not for this request
	}
	v.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verifyAlone verifies for one caller, in its goroutine.
func (v *verifier) verifyAlone(ctx context.Context) error {
	err := v.verify(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running = v.next != nil; v.running {
		v.alone = 0
		go v.run() //nolint:gosec // run works for all waiting callers, not for this request
	}
	return err
}

// run verifies until no caller waits.
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
		if now.callers == 1 {
			v.alone++
		} else {
			v.alone = 0
		}
		v.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), verifyTimeout)
		now.err = v.verify(ctx)
		cancel()
		close(now.done)
	}
}
