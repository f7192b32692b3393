package allocator

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// outlook describes when a lane that issues nothing now can serve a caller.
type outlook struct {
	// wait is the time until the clock reaches the next cell; 0 if the clock is not the obstacle.
	wait time.Duration
	// grant: a grant would help. No grant can be expected before in has passed.
	grant bool
	in    time.Duration
	// had: the lane had a window before; false if the very first one may still be on its way.
	had bool
	// err is the error for a caller that does not wait; nil if wait is not 0.
	err error
}

// outlook returns when the lane can serve a caller, and makes the lane check a lease that no longer serves.
func (l *lane) outlook(now clock.Reading, limits clock.Limits, after uint64) outlook {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted = true; l.idle {
		l.kick()
	}
	held := l.held()
	if held == nil {
		return l.missing(now, !l.until.IsZero())
	}
	position := held.position.Load()
	now = l.issuer.watch.Advance(now)
	cell, _, v := held.place(position, held.layout.TickAt(now.Wall), 1, after)
	switch v {
	case taken:
		return outlook{wait: 1} // the lease has just changed
	case early, floorEarly:
		if !held.isBehind(cell, now.Wall, limits.WaitThreshold) {
			return outlook{wait: held.due(cell, now.Wall)}
		}
		o := outlook{err: &clock.BehindError{Behind: held.lead(cell, now.Wall), Limit: limits.WaitThreshold}}
		if v == early && limits.Swap {
			l.kick()
			o.grant, o.had = true, true
		}
		return o
	case exhausted:
		return outlook{err: ErrTimeExhausted}
	case unreachable:
		return outlook{err: fmt.Errorf("%w: no ID of layout %q is greater than %d", ErrInvalidArgument, held.layout.Name(), after)}
	default: // ended
		l.kick()
		return l.missing(now, true)
	}
}

// missing returns the outlook of a lane without a window. Requires l.mu.
func (l *lane) missing(now clock.Reading, had bool) outlook {
	o := outlook{grant: true, had: had, err: &WindowEndedError{Until: l.until, Cause: l.problem}}
	if specific(l.problem) {
		o.err = l.problem
		if !l.waiting { // otherwise the problem is this clock, which the caller has found correct
			o.in = lasts(l.problem, now.Wall)
		}
	}
	return o
}

// readiness returns nil if the lane could issue now or is just saturated. Requires l.mu.
func (l *lane) readiness(now clock.Reading, limits clock.Limits) error {
	held := l.held()
	if held == nil {
		return l.missing(now, true).err
	}
	position := held.position.Load()
	now = l.issuer.watch.Advance(now)
	tick := held.layout.TickAt(now.Wall)
	cell, _, v := held.place(position, tick, 1, 0)
	switch v {
	case taken:
		return nil
	case early:
		if held.tick(cell)-tick <= int64(held.ahead)+1 {
			return nil
		}
		return &clock.BehindError{Behind: held.lead(cell, now.Wall), Limit: limits.WaitThreshold}
	case exhausted:
		return ErrTimeExhausted
	default:
		return l.missing(now, true).err
	}
}

// held returns the lease if there is one that is not closed, otherwise nil. Requires l.mu, without which the lane
// may be seen between two leases.
func (l *lane) held() *lease {
	held := l.lease.Load()
	if held != nil && held.position.Load() == closedPosition {
		return nil
	}
	return held
}
