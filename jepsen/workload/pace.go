//go:build linux

package workload

import (
	"context"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mostInFlight is the maximum of operations of one client in progress.
const mostInFlight = 64

// pace calls f at rate, in calls per second, until ctx is done. It is an open loop: calls do
// not wait for earlier ones, so a slow cluster gets no fewer requests. At most mostInFlight
// calls are in progress; further ones are skipped. pace returns after all calls have returned.
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
