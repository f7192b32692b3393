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
	// exhaustedPoll is the interval at which a lane requests a worker at least, though none
	// was to become free before: a holder may have released one.
	exhaustedPoll = 3 * time.Second
)

// lane keeps one lease, and its window ahead of the clock.
//
// run is its goroutine. Only it calls the Granter for this lane, opens a lease
// and extends one. It closes a lease strictly before the next one becomes
// visible, so that at no time two of them can issue cells; both under mu, so
// that with mu held the lane is never seen between the two.
type lane struct {
	issuer *Issuer
	holder string // the lane's own name
	log    *slog.Logger

	lease atomic.Pointer[lease] // read by every caller
	kicks chan struct{}

	mu      sync.Mutex
	stopped bool      // no call to the Granter begins, no lease is opened
	problem error     // why the window is not ahead of the clock; nil if it is
	waiting bool      // the problem is this process's clock, nothing is requested
	until   time.Time // end of the last window, for errors
	wanted  bool      // a caller found nothing to take since run looked last
	idle    bool      // no worker is held or requested, until a caller wants one

	// Owned by run.
	window   slowStart
	extendAt int64  // Mono
	failures int    // in a row
	failedAt int64  // Mono, time of the first of them
	ended    bool   // the window ended meanwhile
	waited   bool   // for the observed clock, before this acquisition
	floor    int64  // the next lease starts at this tick or later
	swapped  *lease // closed, but not released yet
	// lost is the lease whose extension the cluster refused; nil normally. Its cells
	// below its end are still this lane's, and it serves until the next one opens.
	// It is never released: the cluster would refuse that as well.
	lost      *lease
	extension uint64 // ID of the extension whose answer is missing; 0: none
	used      use
}

// pause is the time that run does nothing.
type pause struct {
	d        time.Duration
	kickable bool // a caller that found the window ended cuts it short
}

// kick makes the lane look at once whether its lease still serves. It never blocks.
func (l *lane) kick() {
	select {
	case l.kicks <- struct{}{}:
	default:
	}
}

// run is the lane's goroutine. It ends soon after stop.
func (l *lane) run() {
	l.used.at = l.issuer.watch.Now().Mono
	for l.sleep(l.step()) {
	}
	l.finish()
}

// sleep reports whether the lane continues.
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

// step looks at clock and lease and does the one thing that is due, if any. It
// keeps no state about what it was about to do: a kick, a clock that jumped and
// a timer are all the same to it.
func (l *lane) step() pause {
	watch := l.issuer.watch
	now, limits, held := watch.Now(), watch.Limits(), l.lease.Load()
	if err := l.issuer.check(now); err != nil {
		return l.hold(err)
	}
	if held == nil || held == l.lost {
		if d := l.rest(now, held); d > 0 {
			return pause{d, true}
		}
		return l.acquire(now, limits)
	}
	if position := held.position.Load(); position != closedPosition && held.isBehind(position, now.Wall, limits.WaitThreshold) {
		if !limits.Swap {
			return l.hold(&clock.BehindError{Behind: held.lead(position, now.Wall), Limit: limits.WaitThreshold})
		}
		return l.swap(held)
	}
	if uint64(held.until()) >= held.ticks {
		l.report(nil, false) // as far as the layout goes
		return pause{maxBackoff, true}
	}
	if now.Mono < l.extendAt && !l.hasEnded(held, now) {
		l.report(nil, false)
		return pause{time.Duration(l.extendAt-now.Mono) * time.Millisecond, true}
	}
	return l.extend(held, now)
}

// hasEnded reports whether the clock is where it takes a cell behind the window. A window that is used up
// before is not a reason to extend it: within a long tick that would grant nothing.
func (l *lane) hasEnded(held *lease, now clock.Reading) bool {
	limit, tick := held.limit.Load(), held.layout.TickAt(now.Wall)
	if held.position.Load() >= limit {
		tick += int64(held.ahead)
	}
	return tick >= held.tick(limit)
}

// swap leaves a worker on which the clock is behind, for one to go on with the
// clock as it is. Its IDs are not above those of the old worker.
func (l *lane) swap(held *lease) pause {
	l.log.Warn("clock moved backwards; acquiring another worker", "worker", held.worker)
	l.note(slog.LevelWarn, "worker %d left for another one, because the clock moved backwards", held.worker)
	l.mu.Lock()
	l.close(held)
	l.lease.Store(nil)
	l.problem = nil
	l.mu.Unlock()
	l.issuer.changed.fire()
	l.floor = 0
	l.swapped = held
	if held.issued() {
		return pause{0, false}
	}
	// The clock is behind the start of a window that was granted a moment ago.
	l.failures++
	return pause{backoff(l.failures, maxBackoff), false}
}

// close closes a lease. The next one begins after the last tick it used. Requires l.mu.
func (l *lane) close(held *lease) {
	held.close()
	if held.issued() {
		l.floor = held.tick(held.last-1) + 1
	}
}

// hold is the pause while the clock is off.
func (l *lane) hold(err error) pause {
	l.report(err, true)
	return pause{clockPoll, false}
}

// failed is the pause after a call that failed.
func (l *lane) failed(err error) pause {
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
		most = max(most, min(left, l.window.current)/patience)
	}
	d := backoff(l.failures, most)
	if at, ok := retryAt(err); ok {
		d = max(d, min(at.Sub(time.UnixMilli(now.Wall))+backoff(1, maxBackoff), exhaustedPoll))
	}
	return pause{d, most > maxBackoff}
}

// report notes why the window is not ahead of the clock and wakes the waiting callers.
func (l *lane) report(problem error, waiting bool) {
	l.mu.Lock()
	changed := l.problem != nil || problem != nil
	l.problem, l.waiting = problem, waiting
	l.mu.Unlock()
	if changed {
		l.issuer.changed.fire()
	}
}

// stop closes the lease. A call that has begun goes on; what it is granted is
// released.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if held := l.lease.Load(); held != nil {
		held.close()
	}
}

// finish is the last that run does: it gives the worker back.
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
