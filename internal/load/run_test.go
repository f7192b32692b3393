package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timers returns pauses that work in synthetic time.
func timers() (func(context.Context, time.Duration), func()) { return pauseByTimer, func() {} }

// after returns a client whose calls take d and get one number each.
func after(d time.Duration, next *atomic.Uint64) Caller {
	return CallerFunc(func(ctx context.Context, got *Receipt) error {
		pauseByTimer(ctx, d)
		if err := ctx.Err(); err != nil {
			return err
		}
		got.Number(next.Add(1))
		return nil
	})
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next atomic.Uint64
		r := run(t.Context(), Plan{
			Callers:  []Caller{after(10*time.Millisecond, &next), after(40*time.Millisecond, &next)},
			Duration: 10 * time.Second,
			Check:    NewSeen(1, DefaultSpans),
		}, timers)
		if r.Calls != 1250 || r.Numbers != 1250 || r.Elapsed != 10*time.Second || r.Overdue != 0 || r.Failed() != 0 {
			t.Errorf("%+v, want 1250 calls in 10 s", r)
		}
		if p50, p99 := r.Percentile(50).Round(time.Millisecond), r.Percentile(99).Round(time.Millisecond); p50 != 10*time.Millisecond || p99 != 40*time.Millisecond {
			t.Errorf("p50 %v, p99 %v, want 10 and 40 ms", p50, p99)
		}
		if r.Report.Checked != 1250 || r.Report.Duplicates != 0 {
			t.Errorf("%+v, want 1250 without a duplicate", r.Report)
		}
	})
}

// A server that stalls for one second is charged for all calls that were due in that second.
func TestOpenLoopCountsFromWhenACallWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		stalling := CallerFunc(func(ctx context.Context, got *Receipt) error {
			if at := time.Since(begin); at >= 4*time.Second && at < 5*time.Second {
				pauseByTimer(ctx, 5*time.Second-at)
			}
			return nil
		})
		r := run(t.Context(), Plan{Callers: []Caller{stalling, stalling}, Duration: 10 * time.Second, Rate: 100}, timers)
		if r.Calls != 1000 || r.Overdue != 0 {
			t.Fatalf("%d calls, %d overdue, want 1000", r.Calls, r.Overdue)
		}
		// 100 of 1000 calls were due while it stalled; half of them waited half a second or more.
		if got := r.Percentile(90); got > time.Millisecond {
			t.Errorf("p90 is %v, want next to nothing", got)
		}
		if got := r.Percentile(95).Round(10 * time.Millisecond); got != 500*time.Millisecond {
			t.Errorf("p95 is %v, want half a second", got)
		}
		if got := r.Percentile(100).Round(10 * time.Millisecond); got != time.Second {
			t.Errorf("the longest is %v, want a second", got)
		}
	})
}

// Calls that no client was free to make count with their waiting time.
func TestOpenLoopBeyondWhatTheServerCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next atomic.Uint64
		r := run(t.Context(), Plan{Callers: []Caller{after(100*time.Millisecond, &next)}, Duration: 10 * time.Second, Rate: 20}, timers)
		if r.Calls != 100 || r.Overdue != 100 || r.Elapsed != 10*time.Second {
			t.Errorf("%d calls and %d overdue in %v, want 100 each in 10 s", r.Calls, r.Overdue, r.Elapsed)
		}
		if got := r.Percentile(100).Round(50 * time.Millisecond); got != 5050*time.Millisecond { // due after 4.95 s
			t.Errorf("the longest is %v, want 5.05 s", got)
		}
	})
}

func TestDuplicatesOverClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var next, other atomic.Uint64
		other.Store(299)
		r := run(t.Context(), Plan{
			Callers:  []Caller{after(10*time.Millisecond, &next), after(10*time.Millisecond, &other)},
			Duration: 4 * time.Second, Check: NewSeen(1, DefaultSpans),
		}, timers)
		if r.Report.Duplicates != 101 || r.Report.Examples[0] != 300 {
			t.Errorf("%+v, want 101 duplicates from 300 on", r.Report)
		}
	})
}

func TestFailuresAreCountedByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		failing := CallerFunc(func(ctx context.Context, got *Receipt) error {
			calls++
			switch {
			case calls%10 == 0:
				return context.DeadlineExceeded
			case calls%2 == 0:
				return &Refusal{Reason: "CLOCK_BEHIND", Text: "behind"}
			}
			pauseByTimer(ctx, time.Millisecond)
			return nil
		})
		r := run(t.Context(), Plan{Callers: []Caller{failing}, Duration: 11 * time.Second}, timers)
		want := []Failure{{"CLOCK_BEHIND", 800, "behind"}, {"TIMEOUT", 200, context.DeadlineExceeded.Error()}}
		if !slices.Equal(r.Failures, want) || r.Calls != 1000 || r.Failed() != 1000 {
			t.Errorf("%d calls, %+v, want 1000 and %+v", r.Calls, r.Failures, want)
		}
	})
}

// An interrupted run returns its measurements without the interrupted calls.
func TestInterrupted(t *testing.T) {
	for _, rate := range []float64{0, 10} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 3050*time.Millisecond, errors.New("interrupted"))
			defer cancel()
			var next atomic.Uint64
			r := run(ctx, Plan{Callers: []Caller{after(100*time.Millisecond, &next)}, Duration: time.Hour, Rate: rate}, timers)
			if r.Calls != 30 || r.Failed() != 0 || r.Elapsed != 3050*time.Millisecond || r.Overdue != 0 {
				t.Errorf("rate %v: %+v, want 30 calls", rate, r)
			}
		})
	}
}

// The pause of this system is never too short, and a done ctx interrupts it.
func TestPause(t *testing.T) {
	t.Parallel()
	pause, done := newPause()
	defer done()
	for _, d := range []time.Duration{100 * time.Microsecond, 5 * time.Millisecond} {
		at := time.Now().Add(d)
		await(t.Context(), at, pause)
		if early := time.Until(at); early > 0 {
			t.Errorf("%v: early by %v", d, early)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	await(ctx, time.Now().Add(time.Hour), pause)
}
