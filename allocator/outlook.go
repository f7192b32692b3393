package allocator

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// outlook describes when a lane that issues nothing now can serve a caller.
type outlook struct {
	// wait: the clock reaches the next cell after that; 0 if the clock is not
	// what is missing.
	wait time.Duration
	// grant: a grant would help, and none is to be expected sooner than in.
	grant bool
	in    time.Duration
	// had: there was a window before; false if the very first may just be on its way.
	had bool
	// err is the error for a caller that does not wait; nil if wait is not 0.
	err error
}

// outlook says what the lane has to offer, and has a look taken at a lease
// that no longer serves.
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
	cell, _, v := held.place(held.position.Load(), held.layout.TickAt(now.Wall), 1, after)
	switch v {
	case taken:
		return outlook{wait: 1} // it just changed
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

// missing is the outlook of a lane without a window. Requires l.mu.
func (l *lane) missing(now clock.Reading, had bool) outlook {
	o := outlook{grant: true, had: had, err: &WindowEndedError{Until: l.until, Cause: l.problem}}
	if telling(l.problem) {
		o.err = l.problem
		if !l.waiting { // else it is this clock, and as the caller knows it is right by now
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
	tick := held.layout.TickAt(now.Wall)
	cell, _, v := held.place(held.position.Load(), tick, 1, 0)
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

// held returns the lease, if there is one that is not closed. Requires l.mu, without which
// the lane may be seen between two leases.
func (l *lane) held() *lease {
	held := l.lease.Load()
	if held != nil && held.position.Load() == closedPosition {
		return nil
	}
	return held
}
