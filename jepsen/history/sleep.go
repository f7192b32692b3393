package history

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false if ctx is canceled earlier.
func Sleep(ctx context.Context, d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}
