package allocator

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// clockPoll is the interval at which a lane checks whether its clock is correct again.
	clockPoll = 100 * time.Millisecond
	// exhaustedPoll is the longest interval between requests for a worker while none is free: a holder may
	// release its worker before its window ends.
	exhaustedPoll = 3 * time.Second
)

// lane holds one lease and keeps its window ahead of the clock.
//
// run is its goroutine. Only run calls the Granter for this lane, opens leases and extends them. It closes a
// lease strictly before the next one becomes visible, so that two leases never issue cells at the same time.
// Both steps are under mu, so that a holder of mu never sees the lane between them.
type lane struct {
	issuer *Issuer
	holder string // the lane's own name
	log    *slog.Logger

	lease atomic.Pointer[lease] // read by every caller
	kicks chan struct{}

	mu      sync.Mutex
	stopped bool      // no call to the Granter begins, no lease is opened
	problem error     // reason that the window is not ahead of the clock; nil if it is ahead
	waiting bool      // the problem is this process's clock, and nothing is requested
	until   time.Time // end of the last window, for errors
	wanted  bool      // a caller found nothing to take since run last looked
	idle    bool      // no worker is held or requested, until a caller wants one

	// Owned by run.
	window   slowStart
	extendAt int64  // Mono
	failures int    // failed calls in a row
	failedAt int64  // Mono; time of the first of these failures
	ended    bool   // the window ended during these failures
	floor    int64  // the next lease starts at this tick or later
	swapped  *lease // closed, but not released yet
	// lost is the lease whose extension the cluster refused; nil normally. The cells below its end still belong
	// to this lane, and it serves until the next lease opens. It is never released, because the cluster would
	// refuse the release too.
	lost      *lease
	extension uint64 // ID of the extension whose outcome is unknown; 0 if none
	used      use
}

// pause is the time for which run does nothing.
type pause struct {
	d        time.Duration
	kickable bool // a kick cuts it short
}

// kick makes the lane check at once whether its lease still serves. It never blocks.
func (l *lane) kick() {
	select {
	case l.kicks <- struct{}{}:
	default:
	}
}

// run is the lane's goroutine. It returns soon after stop.
func (l *lane) run() {
	l.used.at = l.issuer.watch.Now().Mono
	for l.sleep(l.step()) {
	}
	l.finish()
}

// sleep pauses, and reports whether the lane continues.
func (l *lane) sleep(p pause) bool {
	var kicks chan struct{}
	if p.kickable {
		kicks = l.kicks
	}
	timer := time.NewTimer(p.d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-kicks:
	case <-l.issuer.stopping:
		return false
	}
	return true
}

// step checks clock and lease and does the one thing that is due, if any. It keeps no state about earlier
// plans, so a kick, a jump of the clock and a timer need no distinction.
func (l *lane) step() pause {
	watch := l.issuer.watch
	now, limits, held := watch.Now(), watch.Limits(), l.lease.Load()
	if err := l.issuer.check(now); err != nil {
		return l.reportClock(err)
	}
	if held == nil || held == l.lost {
		if d := l.rest(now, held); d > 0 {
			return pause{d, true}
		}
		return l.acquire(now, limits)
	}
	position := held.position.Load()
	now = watch.Advance(now)
	if position != closedPosition && held.isBehind(position, now.Wall, limits.WaitThreshold) {
		if !limits.Swap {
			return l.reportClock(&clock.BehindError{Behind: held.lead(position, now.Wall), Limit: limits.WaitThreshold})
		}
		return l.swap(held)
	}
	if uint64(held.until()) >= held.ticks {
		l.report(nil, false) // the window reaches the end of the layout
		return pause{maxBackoff, true}
	}
	if now.Mono < l.extendAt && !l.hasEnded(held, now) {
		l.report(nil, false)
		return pause{time.Duration(l.extendAt-now.Mono) * time.Millisecond, true}
	}
	return l.extend(held, now)
}

// hasEnded reports whether the next cell at this time of the clock lies beyond the window. A window whose cells
// are used up earlier is not a reason to extend it: within a long tick the extension would grant nothing.
func (l *lane) hasEnded(held *lease, now clock.Reading) bool {
	limit, tick := held.limit.Load(), held.layout.TickAt(now.Wall)
	if held.position.Load() >= limit {
		tick += int64(held.ahead)
	}
	return tick >= held.tick(limit)
}

// swap leaves a worker whose position is ahead of the clock. The lane continues on another worker, at the
// present clock. IDs of that worker are not above those of the old worker.
func (l *lane) swap(held *lease) pause {
	l.log.Warn("clock moved backwards; acquiring another worker", "worker", held.worker)
	l.note(slog.LevelWarn, "worker %d left for another one, because the clock moved backwards", held.worker)
	l.mu.Lock()
	l.close(held)
	l.lease.Store(nil)
	l.problem = nil
	l.mu.Unlock()
	l.issuer.changed.Send()
	l.floor = 0
	l.swapped = held
	if held.issued() {
		return pause{0, false}
	}
	// The clock is behind the start of a window that was granted just now.
	l.failures++
	return pause{backoff(l.failures, maxBackoff), false}
}

// close closes a lease. The next lease begins after the last tick that this one used. Requires l.mu.
func (l *lane) close(held *lease) {
	held.close()
	if held.issued() {
		l.floor = held.tick(held.last-1) + 1
	}
}

// reportClock reports a clock error and returns the pause until the next check of the clock.
func (l *lane) reportClock(err error) pause {
	l.report(err, true)
	return pause{clockPoll, false}
}

// failed reports a failed call and returns the pause after it.
func (l *lane) failed(err error) pause {
	if errors.Is(err, ErrSetBack) {
		l.forsake()
	}
	l.failures++
	now := l.issuer.watch.Now()
	if l.failures == 1 && !errors.Is(err, ErrClosed) {
		l.failedAt = now.Mono
		l.log.Warn("window not granted; retrying", "error", err)
		l.note(slog.LevelWarn, "window not granted: %v", err)
	}
	l.report(err, false)
	l.window.failed()
	most := maxBackoff
	if held := l.lease.Load(); held != nil && held != l.lost {
		left := clock.Between(now.Wall, held.layout.MillisAt(held.until()))
		if left <= 0 && !l.ended {
			l.ended = true
			l.note(slog.LevelError, "window of worker %d ended; issuing nothing until another one is granted", held.worker)
		}
		most = max(most, min(left, l.window.current)/pauseDivisor)
	}
	d := backoff(l.failures, most)
	if at, ok := retryAt(err); ok {
		d = max(d, min(at.Sub(time.UnixMilli(now.Wall))+backoff(1, maxBackoff), exhaustedPoll))
	}
	return pause{d, most > maxBackoff}
}

// report records why the window is not ahead of the clock and wakes the waiting callers; a nil problem means
// that it is ahead.
func (l *lane) report(problem error, waiting bool) {
	l.mu.Lock()
	changed := l.problem != nil || problem != nil
	l.problem, l.waiting = problem, waiting
	l.mu.Unlock()
	if changed {
		l.issuer.changed.Send()
	}
}

// stop closes the lease. A call that has begun continues; finish releases the worker that the call is granted.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if held := l.lease.Load(); held != nil {
		held.close()
	}
}

// finish is the last action of run: it releases the workers.
func (l *lane) finish() {
	for _, held := range []*lease{l.lease.Load(), l.swapped} {
		if held == nil || held == l.lost {
			continue
		}
		if err := l.release(held, callTimeout); err != nil {
			l.issuer.failed(fmt.Errorf("worker %d not released; it becomes free when its window ends: %w", held.worker, err))
		}
	}
}
