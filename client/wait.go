package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// bounded returns ctx with a deadline: its own, or one after the timeout if it has none.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// wait waits for the duration d or for news. It returns false if ctx is done before.
func wait(ctx context.Context, d time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-news:
		return true
	case <-ctx.Done():
		return false
	}
}

// bell wakes all goroutines that wait for it to ring.
type bell struct{ ring atomic.Pointer[chan struct{}] }

func (b *bell) init() {
	ch := make(chan struct{})
	b.ring.Store(&ch)
}

// next returns a channel that the next toll closes.
func (b *bell) next() <-chan struct{} { return *b.ring.Load() }

func (b *bell) toll() {
	ch := make(chan struct{})
	close(*b.ring.Swap(&ch))
}
