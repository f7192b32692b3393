//go:build !linux

package load

import (
	"context"
	"time"
)

// newPause returns a function that pauses for about d, or until ctx is done.
func newPause() (pause func(ctx context.Context, d time.Duration), done func()) {
	return pauseByTimer, func() {}
}
