package client

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
)

const (
	// fillTimeout bounds one request for IDs: longer than a member that hangs is waited for,
	// short enough for callers to hear why there is nothing.
	fillTimeout = 3 * time.Second
	// usualFetch is the number of IDs requested at once unless the rate needs more: a lane of the
	// layout "default" has them after 25 ms.
	usualFetch = 100_000
	leastFetch = 1_000
	// refillPause is the wait after a request failed; it doubles up to longestRefillPause.
	refillPause        = 10 * time.Millisecond
	longestRefillPause = time.Second
)

// filler fills a Buffer and drops what is too old. Its fields are its goroutine's; counts are in IDs, rates in
// IDs per millisecond.
type filler struct {
	b     *Buffer
	fetch func(ctx context.Context, count uint64) ([]Range, error) // as many as requested, all different
	clock clock.Source

	last *chunk // the chunks end with it
	put  uint64 // into the buffer, ever
	gone uint64 // dropped of these

	capacity uint64
	rate     float64
	since    int64  // Mono; when the rate was measured last
	base     uint64 // taken then

	goal    uint64 // fill until so many were put in
	batch   uint64 // request so many at once at most
	topUp   int64  // Mono; when to fill up next
	retryAt int64  // Mono; request nothing before
	pause   time.Duration
	boosted uint64 // refills when a caller was starved last

	under   bool // a request is in progress
	asked   int64
	answers chan fillAnswer
}

type fillAnswer struct {
	ranges []Range
	err    error
}

func newFiller(b *Buffer, fetch func(ctx context.Context, count uint64) ([]Range, error)) *filler {
	f := &filler{
		b: b, fetch: fetch, clock: clock.System(), last: b.current.Load(), capacity: uint64(b.opts.least),
		batch: usualFetch, pause: refillPause, answers: make(chan fillAnswer),
	}
	now := f.clock().Mono
	f.since, f.topUp, f.retryAt = now, now, now
	return f
}

func (f *filler) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := f.clock().Mono
		f.drop(now - f.b.opts.age.Milliseconds())
		f.measure(now)
		low := uint64(float64(f.capacity) * f.b.opts.threshold)
		// Set before looking at the level: either we see that it is low, or who takes it there sees the mark.
		f.b.mark.Store(f.put - low - 1)
		if !f.under && now >= f.retryAt && f.due(now, low) {
			f.request(now)
		}
		wake := f.b.wake
		if f.under || now < f.retryAt {
			wake = nil // it could do nothing
		}
		timer.Reset(f.nap(now))
		select {
		case <-wake:
		case <-timer.C:
		case a := <-f.answers:
			f.take(a)
		case <-f.b.life.Done():
			if f.under {
				f.take(<-f.answers)
			}
			f.drop(math.MinInt64)
			return
		}
	}
}

// due reports whether to request IDs now.
func (f *filler) due(now int64, low uint64) bool {
	level := f.put - f.b.current.Load().used()
	if level <= low || now >= f.topUp {
		if now >= f.topUp {
			f.topUp = now + max(1, f.b.opts.topUp.Milliseconds())
		}
		if level < f.capacity {
			f.goal = max(f.goal, f.put+f.capacity-level)
		}
	}
	return f.put < f.goal
}

// request requests IDs in the background.
func (f *filler) request(now int64) {
	f.under, f.asked = true, now
	count := min(f.goal-f.put, f.batch)
	go func() {
		ctx, cancel := context.WithTimeout(f.b.life, fillTimeout)
		defer cancel()
		ranges, err := f.fetch(ctx, count)
		f.answers <- fillAnswer{ranges, err}
	}()
}

// take takes an answer in.
func (f *filler) take(a fillAnswer) {
	b := f.b
	f.under = false
	defer b.filled.toll()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problem = a.err
	if a.err != nil {
		b.stats.Failures++
		f.goal = f.put
		f.retryAt = f.clock().Mono + f.pause.Milliseconds()
		f.pause = min(2*f.pause, longestRefillPause)
		if errors.Is(a.err, context.DeadlineExceeded) {
			f.batch = max(leastFetch, f.batch/2) // as many may take too long
		}
		return
	}
	f.pause = refillPause
	f.batch = min(2*f.batch, max(usualFetch, min(limits.Count, uint64(f.rate*rateWindow))))
	b.stats.Refills++
	for _, c := range chunks(a.ranges, f.asked) {
		c.start = f.put
		f.put += c.count
		f.last.next.Store(c)
		f.last = c
	}
	b.put = f.put
}

// drop drops the IDs that were born by then; all for the least int64.
func (f *filler) drop(born int64) {
	b := f.b
	for c := b.current.Load(); c.born <= born || born == math.MinInt64; {
		b.mu.Lock()
		left := c.close()
		f.gone += left
		b.stats.Dropped = f.gone
		b.mu.Unlock()
		next := c.next.Load()
		if next == nil {
			return
		}
		b.current.CompareAndSwap(c, next)
		c = next
	}
}

// nap is how long there is nothing to do unless a caller says so.
func (f *filler) nap(now int64) time.Duration {
	until := f.topUp
	if f.under {
		until = math.MaxInt64
	} else if now < f.retryAt {
		until = f.retryAt
	}
	for c := f.b.current.Load(); c != nil; c = c.next.Load() {
		if c.position.Load() < c.count {
			until = min(until, c.born+f.b.opts.age.Milliseconds())
			break
		}
	}
	return time.Duration(max(1, min(until-now, int64(time.Hour/time.Millisecond)))) * time.Millisecond
}
