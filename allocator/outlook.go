package allocator

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// outlook is what a lane that gives nothing now has to offer to a caller.
type outlook struct {
	// wait: the clock reaches the next cell after that; 0 if the clock is not
	// what is missing.
	wait time.Duration
	// grant: a grant would help, and none is to be expected sooner than in.
	grant bool
	in    time.Duration
	// err is what to tell a caller that does not wait; nil if wait is not 0.
	err error
}

// outlook says what the lane has to offer, and has a look taken at a lease
// that no longer serves.
func (l *lane) outlook(now clock.Reading, limits clock.Limits, after uint64) outlook {
	held, problem, until := l.state()
	if held == nil {
		return missing(problem, until, now)
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
			o.grant = true
		}
		return o
	case exhausted:
		return outlook{err: ErrTimeExhausted}
	case unreachable:
		return outlook{err: fmt.Errorf("%w: no ID of layout %q is greater than %d", ErrInvalidArgument, held.layout.Name(), after)}
	default: // ended, closed
		l.kick()
		return missing(problem, until, now)
	}
}

// missing is the outlook of a lane without a window.
func missing(problem error, until time.Time, now clock.Reading) outlook {
	if telling(problem) {
		return outlook{grant: true, in: lasts(problem, now.Wall), err: problem}
	}
	return outlook{grant: true, err: &WindowEndedError{Until: until, Cause: problem}}
}

// readiness returns nil if the lane could issue now or is just saturated.
func (l *lane) readiness(now clock.Reading, limits clock.Limits) error {
	if err := l.issuer.watch.Check(now); err != nil {
		return err
	}
	held, problem, until := l.state()
	if held == nil {
		return missing(problem, until, now).err
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
		return missing(problem, until, now).err
	}
}

// state returns the lease, if there is one that is not closed, why the window is
// not ahead of the clock, and when the last window ends.
func (l *lane) state() (held *lease, problem error, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held = l.lease.Load(); held != nil && held.position.Load() == closedPosition {
		held = nil
	}
	return held, l.problem, l.until
}
