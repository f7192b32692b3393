package allocator

import (
	"context"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// maxNap is the longest time between two readings of the clock by a waiting caller.
	maxNap = 20 * time.Millisecond
	// longNap is the nap of a caller that has waited for a window for longer than the wait threshold. Thousands
	// of callers may wait for minutes, and a grant wakes them anyway.
	longNap = 200 * time.Millisecond
)

// await takes cells from any lane, or waits until a lane has some. It waits until ctx ends for the clock to
// reach the next tick, and for a window as long as [Config.WindowWait] says. While the clock is wrong, it waits
// for a window for at most the wait threshold.
func (i *Issuer) await(ctx context.Context, n, after uint64) (held *lease, start, end uint64, err error) {
	var began, limit int64 // Mono; start and limit of the wait for a window
	var waiting bool       // began and limit are set
	for {
		changed := i.changed.Next()
		if i.closing.Load() {
			return nil, 0, 0, ErrClosed
		}
		now, limits := i.watch.Now(), i.watch.Limits()
		if err := i.check(now); err != nil {
			return nil, 0, 0, err
		}
		if held, start, end := i.try(now, n, after); held != nil {
			return held, start, end, nil
		}
		if err := i.reachable(now, limits, after); err != nil {
			return nil, 0, 0, err
		}
		best := i.survey(now, limits, after)

		most := maxNap
		nap, what := best.wait, "waiting for the clock to reach the next tick that is free"
		if best.wait == 0 {
			if !best.grant {
				return nil, 0, 0, best.err
			}
			if !waiting {
				began, limit, waiting = now.Mono, now.Mono+i.windowWait(ctx, best.had).Milliseconds(), true
				if values, done := i.wait.observe(ctx); values != nil {
					i.asking.Store(&values)
					defer func() {
						i.asking.CompareAndSwap(&values, nil)
						done(err)
					}()
				}
			}
			end := limit
			if ofClock(best.err) {
				end = min(end, began+limits.WaitThreshold.Milliseconds())
			}
			nap, what = time.Duration(end-now.Mono)*time.Millisecond, "waiting for a window"
			if nap <= 0 || best.in > nap {
				return nil, 0, 0, best.err
			}
			if now.Mono-began > limits.WaitThreshold.Milliseconds() {
				most = longNap
			}
		}
		timer := time.NewTimer(min(nap, most))
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return nil, 0, 0, &InterruptedError{What: what, Missing: best.err, Err: ctx.Err()}
		}
		timer.Stop()
	}
}

// reachable returns an [ErrInvalidArgument] if after is greater than every ID of the layout, or if no member
// can have issued it. No member can if the ID is later than this clock and the observed clock by more than the
// wait threshold, the allowed offset and MaxAhead together, and by more ticks than a lane may be ahead. A clock
// that is not trusted may itself be that far behind, so the error is a [*clock.BehindError]. An ID that is later
// by less, and that the clock does not reach within the wait threshold, is a clock error too.
func (i *Issuer) reachable(now clock.Reading, limits clock.Limits, after uint64) error {
	parts, err := i.layout.Unpack(after)
	if err != nil {
		return fmt.Errorf("%w: no ID of layout %q is greater than %d", ErrInvalidArgument, i.layout.Name(), after)
	}
	limit := limits.WaitThreshold + limits.MaxOffset + i.maxAhead
	ticks := 1 + i.maxAhead.Milliseconds()/i.layout.Spec().UnitMillis
	ahead := clock.Between(now.Wall, i.layout.MillisAt(parts.Tick))
	if ahead-max(0, i.watch.Behind(now)) <= limit || parts.Tick-i.layout.TickAt(now.Wall) <= ticks {
		return nil
	}
	if !i.watch.Trusted() {
		return &clock.BehindError{Behind: ahead, Limit: limits.WaitThreshold}
	}
	return fmt.Errorf("%w: after %d is %v ahead of this clock, limit %v; send an ID that was issued, or omit it", ErrInvalidArgument, after, ahead, limit)
}

// survey returns the best outlook of all lanes: the shortest wait for the clock, otherwise the grant that can be
// expected soonest, otherwise an error.
func (i *Issuer) survey(now clock.Reading, limits clock.Limits, after uint64) outlook {
	var best outlook
	had := false
	for k, l := range i.lanes {
		o := l.outlook(now, limits, after)
		had = had || o.had
		switch {
		case k == 0,
			o.wait > 0 && (best.wait == 0 || o.wait < best.wait),
			best.wait == 0 && o.grant && (!best.grant || o.in < best.in):
			best = o
		}
	}
	best.had = had
	return best
}

// check returns an error if, at this reading of the clock, no ID may be issued and no window requested.
func (i *Issuer) check(now clock.Reading) error {
	if err := i.watch.Check(now); err != nil {
		return err
	}
	switch tick := i.layout.TickAt(now.Wall); {
	case tick < 0: // before the epoch
		return &clock.BehindError{Behind: clock.Between(now.Wall, i.layout.MillisAt(0)), Limit: i.watch.Limits().WaitThreshold}
	case uint64(tick) >= i.layout.Ticks():
		return ErrTimeExhausted
	}
	return nil
}
