package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// shutdownLimit is how long an orderly shutdown may take.
const shutdownLimit = 10 * time.Second

// interruptible returns a context that ends at the first SIGINT or SIGTERM, and
// the channel on which a second one arrives.
func (a *app) interruptible(ctx context.Context) (context.Context, <-chan os.Signal, func()) {
	arrived, ignore := a.signals()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-arrived:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, arrived, func() {
		cancel()
		ignore()
	}
}

// closeInOrder calls shut and waits for it, but not longer than shutdownLimit
// and not after another signal has arrived.
func closeInOrder(again <-chan os.Signal, shut func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- shut(ctx) }()
	select {
	case err := <-done:
		return err
	case <-again:
		return errors.New("ended by a second signal before the shutdown was complete")
	case <-ctx.Done():
		return fmt.Errorf("the shutdown was not complete after %v", shutdownLimit)
	}
}
