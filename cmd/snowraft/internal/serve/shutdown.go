package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// shutdownLimit is how long an orderly shutdown may take.
	shutdownLimit = 10 * time.Second
	// sameSignal is how soon after the first a signal counts as the same one:
	// tools such as timeout and some init programs send it to the process and to
	// its group.
	sameSignal = 100 * time.Millisecond
)

// closeInOrder calls shut and waits for it, but not longer than shutdownLimit
// and not after another signal has arrived.
func closeInOrder(again <-chan os.Signal, shut func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- shut(ctx) }()
	same := time.After(sameSignal)
	for {
		select {
		case err := <-done:
			return err
		case <-same:
			same = nil
		case <-again:
			if same == nil {
				return errors.New("ended by a second signal before the shutdown was complete")
			}
		case <-ctx.Done():
			return fmt.Errorf("the shutdown was not complete after %v", shutdownLimit)
		}
	}
}
