package allocator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// lost is a rig whose window has ended and whose cluster grants nothing anymore.
func lost(r *rig) {
	r.settle()
	r.next(0)
	r.cluster.set(func() { r.cluster.before = func(call) error { return errors.New("no quorum") } })
	r.pass(10 * time.Second)
}

// A caller waits for a window for as long as its limit, and gets the window as soon as it is granted.
func TestWindowWait(t *testing.T) {
	patience := func(d time.Duration) func(*rig) {
		return func(r *rig) { r.cfg.WindowWait = func(context.Context, bool) time.Duration { return d } }
	}
	run(t, patience(0), func(r *rig) {
		lost(r)
		if err, took := refused[*allocator.WindowEndedError](r); took != 0 || err.Cause == nil {
			r.Errorf("refused after %v: %v", took, err)
		}
	})
	run(t, patience(time.Minute), func(r *rig) {
		lost(r)
		if _, took := refused[*allocator.WindowEndedError](r); !about(took, time.Minute) {
			r.Errorf("refused after %v", took)
		}
		time.AfterFunc(30*time.Second, func() { r.cluster.set(func() { r.cluster.before = nil }) })
		if took := timed(func() { r.next(0) }); took < 30*time.Second || took > 31100*time.Millisecond {
			r.Errorf("continued after %v", took)
		}
	})
	run(t, patience(time.Hour), func(r *rig) {
		lost(r)
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		_, err := r.issuer.Next(ctx, 0)
		interrupted, ok := errors.AsType[*allocator.InterruptedError](err)
		var ended *allocator.WindowEndedError
		if !ok || !errors.Is(err, context.DeadlineExceeded) || !errors.As(interrupted.Missing, &ended) || errors.As(err, &ended) {
			r.Errorf("%v", err)
		}
	})
}

// A caller that arrives while the first window is being acquired waits for it, even without a wait for later
// windows.
func TestWaitForTheFirstWindow(t *testing.T) {
	var taken chan error
	var opened chan struct{}
	run(t, func(r *rig) {
		taken, opened = make(chan error, 1), make(chan struct{})
		r.cfg.WindowWait = func(_ context.Context, had bool) time.Duration {
			if had {
				return 0
			}
			return time.Minute
		}
		r.cfg.Observe = func(int64) { // granted, but not available yet
			go func() {
				<-opened
				_, err := r.issuer.Next(r.Context(), 0)
				taken <- err
			}()
			time.Sleep(time.Millisecond)
		}
	}, func(r *rig) {
		close(opened)
		if err := <-taken; err != nil {
			r.Error(err)
		}
		lost(r)
		if _, took := refused[*allocator.WindowEndedError](r); took != 0 {
			r.Errorf("refused after %v", took)
		}
	})
}

// WindowWait has no effect while the cluster refuses the clock of this process.
func TestNoWaitWithAWrongClock(t *testing.T) {
	for _, wrong := range []error{
		&clock.SkewError{Ahead: time.Hour, Limit: time.Second},
		&clock.BehindError{Behind: 1500 * time.Millisecond, Limit: time.Second},
	} {
		run(t, func(r *rig) {
			r.cluster = newCluster(r.layout)
			r.cluster.before = func(call) error { return wrong }
			r.cfg.WindowWait = func(context.Context, bool) time.Duration { return time.Hour }
		}, func(r *rig) {
			began := time.Now()
			if _, err := r.issuer.Next(r.Context(), 0); !errors.Is(err, wrong) {
				r.Error(err)
			}
			if took := time.Since(began); took > limits.WaitThreshold+2*time.Millisecond {
				r.Errorf("refused after %v", took)
			}
		})
	}
}

// A request that was long on its way is refused because of the clock reading that it carries. The refusal does
// not mean that this process's clock is wrong.
func TestLateRequests(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.delay.Store(int64(1200 * time.Millisecond))
		r.cluster.before = func(k call) error {
			if behind := time.Since(k.mono); behind > limits.WaitThreshold {
				return &clock.BehindError{Behind: behind, Limit: limits.WaitThreshold}
			}
			return nil
		}
		r.cfg.WindowWait = func(context.Context, bool) time.Duration { return time.Minute }
	}, func(r *rig) {
		r.pass(2 * time.Second)
		if err := r.issuer.Ready(); errors.As(err, new(*clock.BehindError)) || !errors.As(err, new(*allocator.WindowEndedError)) {
			r.Error(err)
		}
		time.AfterFunc(10*time.Second, func() { r.cluster.delay.Store(0) })
		r.next(0)
	})
}

// While the cluster refuses the rights of this process, callers learn that at once, also before the first window. The lane goes
// on asking, because the rights may change.
func TestNoWaitForARefusal(t *testing.T) {
	refusal := errors.New("token 7 lacks the scope worker:lease:default")
	refusing := func(r *rig) {
		r.cfg.WindowWait = func(context.Context, bool) time.Duration { return time.Hour }
		r.cluster = newCluster(r.layout)
		r.cluster.before = func(call) error { return &allocator.RefusedError{Err: refusal} }
	}
	run(t, refusing, func(r *rig) {
		r.settle()
		for range 2 {
			if err, took := refused[*allocator.RefusedError](r); took != 0 || !errors.Is(err, refusal) {
				r.Errorf("refused after %v: %v", took, err)
			}
			r.cluster.set(func() { r.cluster.before = nil })
			r.pass(10 * time.Second)
			r.next(0)
			r.cluster.set(func() { r.cluster.before = func(call) error { return &allocator.RefusedError{Err: refusal} } })
			r.pass(time.Hour)
		}
	})
}
