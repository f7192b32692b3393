package history

import (
	"context"
	"time"
)

// Sleep waits; it reports false if ctx ends earlier.
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
