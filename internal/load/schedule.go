package load

import (
	"context"
	"sync/atomic"
	"time"
)

// schedule holds the due times of the calls of the open loop.
type schedule struct {
	begin time.Time
	// each is the interval between calls in nanoseconds.
	each  float64
	calls int64 // total
	next  atomic.Int64
}

// newSchedule returns a schedule of rate calls per second. The first call is due at begin, the last before
// the duration has passed.
func newSchedule(begin time.Time, duration time.Duration, rate float64) *schedule {
	s := &schedule{begin: begin, each: float64(time.Second) / rate}
	s.calls = int64(float64(duration) / s.each)
	return s
}

// due returns the time at which call i is due; the first is call 0.
func (s *schedule) due(i int64) time.Time {
	return s.begin.Add(time.Duration(float64(i) * s.each))
}

// take returns the due time of the next call; false after the last call.
func (s *schedule) take() (due time.Time, ok bool) {
	i := s.next.Add(1) - 1
	return s.due(i), i < s.calls
}

// giveBack returns a call that take returned and the client does not make. Every client returns calls
// only at the end, so the remaining calls are the last ones.
func (s *schedule) giveBack() { s.next.Add(-1) }

// overdue calls visit for each remaining call that was due before then, with the time since it was due. It returns the
// number of such calls.
func (s *schedule) overdue(then time.Time, visit func(waited time.Duration)) (n uint64) {
	for i := s.next.Load(); i < s.calls; i++ {
		waited := then.Sub(s.due(i))
		if waited <= 0 {
			break
		}
		visit(waited)
		n++
	}
	return n
}

// await returns at the instant at, or when ctx is done.
func await(ctx context.Context, at time.Time, pause func(context.Context, time.Duration)) {
	for left := at.Sub(now()); left > 0 && ctx.Err() == nil; left = at.Sub(now()) {
		pause(ctx, left)
	}
}

// pauseByTimer pauses for about d, or until ctx is done.
func pauseByTimer(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
