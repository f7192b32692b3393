package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that ends at the first SIGINT or SIGTERM, and
// the channel on which a second one arrives.
func (a *App) Interruptible(ctx context.Context) (context.Context, <-chan os.Signal, func()) {
	arrived, ignore := a.Signals()
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

func processSignals() (<-chan os.Signal, func()) {
	arrived := make(chan os.Signal, 2) // the first asks to stop, the second to stop at once
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	return arrived, func() { signal.Stop(arrived) }
}
