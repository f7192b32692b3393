//go:build linux

package workload

import (
	"context"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mostInFlight bounds how many operations of one client are in progress.
const mostInFlight = 64

// pace calls f that often a second until ctx ends, whether earlier calls have returned or
// not: an open loop, in which a slow cluster is not asked less. At most mostInFlight calls
// are in progress; what would be more is left out. It returns when all have returned.
func pace(ctx context.Context, rate float64, f func(ctx context.Context)) {
	const tick = 5 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	free := make(chan struct{}, mostInFlight)
	begun := history.Now()
	made := 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for due := time.Duration(history.Now()-begun).Seconds() * rate; made+1 <= due; made++ {
			select {
			case free <- struct{}{}:
			default:
				continue
			}
			wg.Go(func() {
				f(ctx)
				<-free
			})
		}
	}
}
