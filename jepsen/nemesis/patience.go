//go:build linux

package nemesis

import (
	"context"
	"os"
	"time"

	"github.com/snowraft/snowraft/internal/test/schedstat"
	"github.com/snowraft/snowraft/jepsen/history"
)

// patienceEvery is the interval at which patience is measured.
const patienceEvery = 100 * time.Millisecond

// Wait waits for a time, which does not count that for which the machine kept a member or this process from a processor. It returns
// earlier if ctx is canceled.
func (w *World) Wait(ctx context.Context, d time.Duration) {
	ctx, cancel := w.patient(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// patient returns a context that ends after a limit, which does not count the time for which the machine kept a member or this process
// from a processor. So a fault that a healthy cluster lets an operator make and undo can be made and undone on a busy machine too.
func (w *World) patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(patienceEvery)
		defer tick.Stop()
		at, times := history.Now(), w.scheduled()
		for limit > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			now, later := history.Now(), w.scheduled()
			limit -= progress(times, later, time.Duration(now-at))
			at, times = now, later
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// scheduled returns the times of the running members and of this process, by start; this process has none.
func (w *World) scheduled() map[uint32]schedstat.Times {
	all := map[uint32]schedstat.Times{0: schedstat.Of(os.Getpid())}
	for _, m := range w.Lab.Running() {
		all[m.Current()] = m.Scheduled()
	}
	return all
}

// progress returns the part of the time between two readings in which all processes had a processor when they needed one.
func progress(earlier, later map[uint32]schedstat.Times, between time.Duration) time.Duration {
	longest := time.Duration(0)
	for start, times := range later {
		if before, ok := earlier[start]; ok {
			longest = max(longest, schedstat.Stalled(before, times, between))
		}
	}
	return between - longest
}
