package allocator

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// This file holds all calls of a lane to the Granter, by which the lane gets, extends and releases its worker.
// Only the lane's goroutine makes these calls.

// errShort is the problem of a lane whose extended window has already ended, because the cluster's clock is
// behind this process's clock, or because this process's clock was behind at the request.
var errShort = errors.New("the granted window has already ended; compare the clock of this machine with the leader's")

const (
	callTimeout = 5 * time.Second
	// courtesyTimeout bounds the release of a worker that a lane no longer uses, after a swap or because the
	// lane is idle. Callers may wait for nothing except this call then.
	courtesyTimeout = 500 * time.Millisecond
)

// acquire requests a worker.
func (l *lane) acquire(now clock.Reading, limits clock.Limits) pause {
	layout := l.issuer.layout
	var grant Grant
	err := l.call(func(ctx context.Context) (err error) {
		grant, err = l.issuer.granter.AcquireWorker(ctx, AcquireRequest{
			Layout:    layout.Name(),
			Holder:    l.holder,
			Nonce:     l.issuer.nonce,
			NowMillis: now.Wall,
			Window:    firstWindow,
		})
		if err == nil && !l.plausible(grant) {
			err = fmt.Errorf("grant of worker %d ignored, because it is impossible: token %d, ticks [%d, %d)", grant.Worker, grant.Token, grant.From, grant.Until)
		}
		return err
	})
	if err != nil {
		return l.failed(l.delayed(err, now))
	}
	return l.open(grant, limits)
}

// plausible reports whether a grant is possible. Accepting a wrong grant could issue
// IDs of another worker; ignoring a right grant only discards a window.
func (l *lane) plausible(g Grant) bool {
	layout := l.issuer.layout
	return g.Worker < layout.Workers() && g.Token > 0 &&
		g.From >= 0 && g.From < g.Until && uint64(g.Until) <= layout.Ticks()
}

// open makes the lease of a grant visible.
func (l *lane) open(g Grant, limits clock.Limits) pause {
	l.issuer.observe(g.ObservedMillis)
	l.mu.Lock()
	observed := max(l.issuer.watch.Observed(), g.ObservedMillis)
	now := l.issuer.watch.Now()
	if l.lost != nil {
		l.close(l.lost)
	}
	first := l.floor
	// The lane waits once, at its first tick, until the clock has passed the observed clock at the grant: a process
	// that has just started does not know that clock yet. Later, the observed clock may stay ahead of a clock that
	// is a little behind the others.
	if clock.Between(now.Wall, observed) <= limits.WaitThreshold {
		first = max(first, l.issuer.layout.TickAt(observed)+1)
	}
	held := newLease(l.issuer.layout, g, first, l.issuer.maxAhead)
	if limits.Swap && held.isBehind(held.first, now.Wall, limits.WaitThreshold) {
		held = newLease(l.issuer.layout, g, 0, l.issuer.maxAhead) // the clock moved backwards in between
	}
	l.window.begin(g.MaxWindow)
	l.schedule(held, now)
	l.extension, l.lost = 0, nil
	if l.stopped {
		held.close()
	}
	l.lease.Store(held)
	l.until = held.endsAt()
	l.problem = nil
	l.mu.Unlock()
	l.issuer.changed.Send()
	l.log.Info("worker acquired", "worker", g.Worker, "fencing_token", g.Token, "from", g.From, "until", g.Until)
	l.note(slog.LevelInfo, "worker %d acquired with fencing token %d", g.Worker, g.Token)

	l.releaseSoon(l.swapped)
	l.swapped = nil
	return pause{0, false}
}

// extend moves the end of the window. It repeats an extension whose outcome is unknown under the same ID: if
// that extension was granted, the repetition returns its window. If the cluster refuses the window as another
// holder's, the lane issues from the rest of the window until another worker is granted.
func (l *lane) extend(held *lease, now clock.Reading) pause {
	until, repeated := held.until(), l.extension != 0
	if !repeated {
		l.extension = DrawExtension()
	}
	var grant Grant
	err := l.call(func(ctx context.Context) (err error) {
		grant, err = l.issuer.granter.ExtendWindow(ctx, ExtendRequest{
			Layout:    l.issuer.layout.Name(),
			Worker:    held.worker,
			Token:     held.token,
			Nonce:     l.issuer.nonce,
			Until:     until,
			ID:        l.extension,
			NowMillis: now.Wall,
			Window:    l.window.coming,
		})
		if err == nil && (!l.plausible(grant) || grant.Worker != held.worker || grant.Token != held.token || grant.Until < until) {
			err = fmt.Errorf("extension of worker %d ignored, because it is impossible: token %d, ticks [%d, %d)", grant.Worker, grant.Token, grant.From, grant.Until)
		}
		return err
	})
	if errors.Is(err, ErrWindowMismatch) {
		l.log.Warn("worker lost; acquiring another", "worker", held.worker, "fencing_token", held.token, "until", until)
		l.note(slog.LevelWarn, "worker %d lost, fencing token %d: the cluster refused its window; acquiring another worker", held.worker, held.token)
		l.lost = held
		return pause{0, false}
	}
	if err != nil {
		return l.failed(l.delayed(err, now))
	}

	l.extension = 0
	held.extend(grant.Until)
	l.issuer.observe(grant.ObservedMillis)
	l.window.extended(grant.MaxWindow)
	if now = l.issuer.watch.Now(); l.hasEnded(held, now) {
		if repeated {
			return pause{0, false} // the repeated extension ended long ago: the next request is a new extension
		}
		return l.failed(errShort) // no new request without a pause
	}
	if l.failures > 0 {
		l.log.Info("window extended again", "worker", held.worker, "until", grant.Until)
		l.note(slog.LevelInfo, "window of worker %d extended %v late", held.worker, time.Duration(now.Mono-l.failedAt)*time.Millisecond)
	}
	l.schedule(held, now)
	l.mu.Lock()
	l.until = held.endsAt()
	l.problem = nil
	l.mu.Unlock()
	l.issuer.changed.Send()
	l.rest(now, held)
	return pause{0, false}
}

// forsake closes the lease, if there is one, when the cluster was set back, because another process may hold the same window. It
// releases nothing: the cluster grants nothing any longer.
func (l *lane) forsake() {
	held := l.lease.Load()
	if held == nil {
		return
	}
	l.log.Error("cluster set back in time; issuing nothing from the rest of the window", "worker", held.worker, "fencing_token", held.token)
	l.note(slog.LevelError, "worker %d left at once, because the cluster was set back in time", held.worker)
	l.mu.Lock()
	l.close(held)
	l.lease.Store(nil)
	l.until = time.Time{}
	l.mu.Unlock()
	l.extension, l.lost = 0, nil
}

// DrawExtension returns a random ID for an extension, not 0. One ID is compared with one other, that of
// the worker's last extension, and only under the same token, nonce and end, so 64 bits are enough.
// They come from the operating system: a copy of this process would draw the same from a generator
// in its memory.
func DrawExtension() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) | 1
}

// schedule sets the time of the next extension. It uses the monotonic clock, because the wall clock may jump;
// hasEnded notices a jump forward.
func (l *lane) schedule(held *lease, now clock.Reading) {
	l.failures, l.ended = 0, false
	left := clock.Between(now.Wall, held.layout.MillisAt(held.until()))
	l.extendAt = now.Mono + l.window.extendAfter(left).Milliseconds()
}

// call runs one call to the Granter, unless the lane was stopped.
func (l *lane) call(f func(context.Context) error) error {
	l.mu.Lock()
	stopped := l.stopped
	l.mu.Unlock()
	if stopped {
		return ErrClosed
	}
	ctx := l.issuer.calls
	if values := l.issuer.asking.Swap(nil); values != nil {
		ctx = withValues(ctx, *values)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return f(ctx)
}

// delayed returns the error of a call that began at a reading of the clock. The request carried that reading.
// If the request took long to arrive, the cluster may refuse it although the clock is not behind.
func (l *lane) delayed(err error, began clock.Reading) error {
	behind, ok := errors.AsType[*clock.BehindError](err)
	if !ok {
		return err
	}
	took := clock.Between(began.Mono, l.issuer.watch.Now().Mono)
	if behind.Behind-took > behind.Limit {
		return err
	}
	return fmt.Errorf("the response took %v and came too late: %v", took, err) //nolint:errorlint // must not be a clock error
}

// releaseSoon releases the worker of a closed lease, if there is one, within courtesyTimeout, because callers
// may wait for this lane.
func (l *lane) releaseSoon(held *lease) {
	if held == nil {
		return
	}
	if err := l.release(held, courtesyTimeout); err != nil {
		l.log.Warn("worker not released; it becomes free when its window ends", "worker", held.worker, "error", err)
		l.note(slog.LevelWarn, "worker %d not released; it becomes free when its window ends", held.worker)
	}
}

// release releases the worker of a closed lease. A worker that the cluster no longer holds for this lane needs no release.
func (l *lane) release(held *lease, timeout time.Duration) error {
	if err := l.issuer.calls.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	next := held.next()
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.issuer.calls, timeout)
	defer cancel()
	err := l.issuer.granter.ReleaseWorker(ctx, ReleaseRequest{
		Layout: l.issuer.layout.Name(),
		Worker: held.worker,
		Token:  held.token,
		Nonce:  l.issuer.nonce,
		Until:  held.until(),
		Next:   next,
	})
	if errors.Is(err, ErrWindowMismatch) {
		l.log.Info("worker lost before its release", "worker", held.worker, "fencing_token", held.token)
		return nil
	}
	return err
}
