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
	// fillTimeout is the time limit of one request for IDs. It is longer than the time after which another member is
	// tried, and short enough for waiting callers to get the reason of a failure.
	fillTimeout = 3 * time.Second
	// usualFetch is the number of IDs in one request, unless the rate needs more. A lane of the layout "default" issues
	// them within 25 ms.
	usualFetch = 100_000
	leastFetch = 1_000
	// refillPause is the pause after a failed request; it doubles up to longestRefillPause.
	refillPause        = 10 * time.Millisecond
	longestRefillPause = time.Second
)

// filler fills a Buffer and drops IDs that are too old. Only its goroutine uses its fields. Counts are in IDs, rates in
// IDs per millisecond.
type filler struct {
	b     *Buffer
	fetch func(ctx context.Context, count uint64) ([]Range, error) // returns count different IDs
	clock clock.Source

	last *chunk // last chunk of the buffer
	put  uint64 // IDs ever put into the buffer
	gone uint64 // IDs of put that were dropped

	capacity uint64
	rate     float64
	since    int64  // Mono at the last measurement of the rate
	base     uint64 // IDs taken until then

	goal    uint64 // value of put up to which to fill
	batch   uint64 // greatest number of IDs in one request
	topUp   int64  // Mono at the next regular filling
	retryAt int64  // Mono before which nothing is requested
	pause   time.Duration
	boosted uint64 // value of put when a caller last found the buffer empty

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
		// The mark is set before the level is read: either the filler sees a low level, or the caller that lowers the level to
		// the threshold sees the mark.
		f.b.mark.Store(f.put - low - 1)
		if !f.under && now >= f.retryAt && f.due(now, low) {
			f.request(now)
		}
		wake := f.b.wake
		if f.under || now < f.retryAt {
			wake = nil // no request is possible now
		}
		timer.Reset(f.nap(now))
		select {
		case <-wake:
		case <-timer.C:
		case a := <-f.answers:
			f.addAnswer(a)
		case <-f.b.life.Done():
			if f.under {
				f.addAnswer(<-f.answers)
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

// addAnswer adds the IDs of an answer to the buffer, or notes its error.
func (f *filler) addAnswer(a fillAnswer) {
	b := f.b
	f.under = false
	defer b.filled.Send()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problem = a.err
	if a.err != nil {
		b.stats.Failures++
		f.goal = f.put
		f.retryAt = f.clock().Mono + f.pause.Milliseconds()
		f.pause = min(2*f.pause, longestRefillPause)
		if errors.Is(a.err, context.DeadlineExceeded) {
			f.batch = max(leastFetch, f.batch/2) // a request of this size may take too long
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

// drop drops the IDs that were requested at Mono born or before; all IDs if born is the least int64.
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

// nap returns the time until the filler must act, unless a caller or an answer wakes it before.
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
