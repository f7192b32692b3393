package client

import (
	"context"
	"errors"
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
