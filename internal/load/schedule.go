package load

import (
	"context"
	"sync/atomic"
	"time"
)

// schedule says when the calls of the open loop are due.
type schedule struct {
	begin time.Time
	// each is the number of nanoseconds calls are apart.
	each  float64
	calls int64 // in all
	next  atomic.Int64
}

// newSchedule has rate calls due each second, the first at begin, the last before
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

// take hands out the next call; there is none when the last was handed out.
func (s *schedule) take() (due time.Time, ok bool) {
	i := s.next.Add(1) - 1
	return s.due(i), i < s.calls
}

// giveBack says that a call that was handed out is not made. Calls are returned
// at the end only, by every client, so those that are left are the last ones.
func (s *schedule) giveBack() { s.next.Add(-1) }

// overdue calls visit with how long each call that was not handed out had been due
// by then.
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

// await returns at an instant, or when ctx is done.
func await(ctx context.Context, at time.Time, pause func(context.Context, time.Duration)) {
	for left := at.Sub(now()); left > 0 && ctx.Err() == nil; left = at.Sub(now()) {
		pause(ctx, left)
	}
}

// pauseByTimer pauses about so long, or until ctx is done.
func pauseByTimer(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
