package simtest

import (
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
)

// wrist is a machine's wall clock. It follows the bubble's time, and a test
// can set it or make it drift. The monotonic clock is always correct.
type wrist struct{ error atomic.Pointer[clockError] }

// clockError is the offset of a clock from the bubble's time.
type clockError struct {
	at    time.Time
	ahead time.Duration // offset at that time
	rate  float64       // drift since then, in seconds per second
}

func (e *clockError) now(now time.Time) time.Duration {
	return e.ahead + time.Duration(e.rate*float64(now.Sub(e.at)))
}

func newWrist() *wrist {
	w := new(wrist)
	w.error.Store(&clockError{})
	return w
}

// set sets the clock to be ahead of the bubble's time.
func (w *wrist) set(ahead time.Duration) {
	w.error.Store(&clockError{at: time.Now(), ahead: ahead, rate: w.error.Load().rate})
}

// drift makes the clock gain rate seconds per second from now on.
func (w *wrist) drift(rate float64) {
	now := time.Now()
	w.error.Store(&clockError{at: now, ahead: w.error.Load().now(now), rate: rate})
}

// ahead returns the time by which the clock is ahead of the bubble's time.
func (w *wrist) ahead() time.Duration { return w.error.Load().now(time.Now()) }

// source returns the clock of a process that starts now.
func (w *wrist) source() clock.Source {
	start := time.Now()
	return func() clock.Reading {
		now := time.Now()
		return clock.Reading{
			Wall: now.Add(w.error.Load().now(now)).UnixMilli(),
			Mono: now.Sub(start).Milliseconds(),
		}
	}
}
