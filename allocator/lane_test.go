package allocator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

var errDown = errors.New("no leader")

func TestWindowsGrowAndAreExtendedAtHalf(t *testing.T) {
	run(t, func(r *rig) { r.cluster = newCluster(r.layout); r.cluster.maxWindow = time.Minute }, func(r *rig) {
		r.next(0)
		r.pass(10 * time.Minute)
		r.next(0)
		acquired := r.cluster.calls("acquire")
		if len(acquired) != 1 || acquired[0].window != 2*time.Second || acquired[0].holder != "test/0" {
			r.Fatalf("acquired %+v", acquired)
		}
		window, before := acquired[0].window, acquired[0].mono
		least, most := 25, 50 // percent of the window
		for k, c := range r.cluster.calls("extend") {
			if at := c.mono.Sub(before); at < window*time.Duration(least)/100-time.Millisecond || at > window*time.Duration(most+1)/100 {
				r.Fatalf("extension %d after %v of a window of %v", k, at, window)
			}
			if c.window < min(2*window, time.Minute) || c.window > min(4*window, time.Minute) || !c.deadline {
				r.Fatalf("extension %d requests %v after %v, deadline %v", k, c.window, window, c.deadline)
			}
			switch {
			case window == time.Minute:
				least, most = 50, 55
			case c.window == time.Minute: // first window of full length
				least, most = 0, 50
			}
			window, before = c.window, c.mono
		}
		if n := len(r.cluster.calls("extend")); n < 18 || n > 30 {
			r.Fatalf("%d extensions in 10 minutes", n)
		}
		s := r.lane()
		if left := s.ServeUntil.Sub(time.UnixMilli(r.clock.read().Wall)); s.Token != 1 || s.Problem != "" || left < 25*time.Second || left > time.Minute {
			r.Fatalf("%+v, serves %v", s, left)
		}
	})
}

func TestLostReplyToAcquire(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		lost := 3
		r.cluster.after = func(k call) error {
			if lost--; lost >= 0 {
				return errDown
			}
			return nil
		}
	}, func(r *rig) {
		r.next(0)
		if s := r.lane(); s.Worker != 3 || s.Token != 4 {
			r.Fatalf("%+v: the lost windows are discarded", s)
		}
	})
}

func TestClusterDownForAnHour(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(5 * time.Minute)
		r.cluster.set(func() { r.cluster.before = func(call) error { return errDown } })
		until := r.lane().ServeUntil
		for time.UnixMilli(r.clock.read().Wall).Before(until.Add(-time.Second)) {
			r.next(0)
			if err := r.issuer.Ready(); err != nil {
				r.Fatal(err)
			}
			r.pass(time.Second)
		}
		if s := r.lane(); s.Problem == "" || s.ServeUntil != until {
			r.Fatalf("%+v", s)
		}
		r.pass(time.Hour)
		err, took := refused[*allocator.WindowEndedError](r)
		if !about(took, time.Second) || !err.Until.Equal(until) || !errors.Is(err.Cause, errDown) {
			r.Fatalf("after %v: %v", took, err)
		}
		if err := r.issuer.Ready(); !errors.As(err, new(*allocator.WindowEndedError)) {
			r.Fatal(err)
		}
		tries := len(r.cluster.calls("extend"))
		r.pass(time.Minute)
		if n := len(r.cluster.calls("extend")) - tries; n < 50 || n > 130 {
			r.Fatalf("%d tries in a minute", n)
		}
		r.cluster.set(func() { r.cluster.before = nil })
		if took := timed(func() { r.next(0) }); took > time.Second {
			r.Fatalf("recovered after %v", took)
		}
	})
}

// A call that waits for the first window gets an ID as soon as the window is granted.
func TestClusterComesUpLate(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.before = func(call) error { return errDown }
	}, func(r *rig) {
		if err := r.issuer.Ready(); err == nil {
			r.Fatal("ready without a window")
		}
		err, took := refused[*allocator.WindowEndedError](r)
		if !about(took, time.Second) || !err.Until.IsZero() {
			r.Fatalf("after %v: %v", took, err)
		}
		r.cluster.set(func() { r.cluster.before = nil })
		if took := timed(func() { r.next(0) }); took > time.Second {
			r.Fatalf("waited %v", took)
		}
	})
}

func TestWorkersExhausted(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		for id := range r.layout.Workers() {
			r.cluster.workers[id] = &worker{holder: "other", token: 1, highWater: r.layout.TickAt(someDay.Add(time.Minute).UnixMilli())}
		}
	}, func(r *rig) {
		r.settle()
		err, took := refused[*allocator.WorkersExhaustedError](r)
		if !about(took, 0) || !err.RetryAt.Equal(someDay.Add(time.Minute)) {
			r.Fatalf("after %v: %v", took, err)
		}
		r.pass(30 * time.Second)
		if n := len(r.cluster.calls("acquire")); n < 10 || n > 15 {
			r.Fatalf("requested %d times in 30 s", n)
		}
		r.pass(29*time.Second + 500*time.Millisecond) // the cluster grants a worker that will be free within the threshold
		if took := timed(func() { r.next(0) }); took > time.Second+100*time.Millisecond {
			r.Fatalf("waited %v", took)
		}
	})
}

// The lane ignores impossible grants.
func TestImpossibleGrants(t *testing.T) {
	for name, forge := range map[string]func(*allocator.Grant){
		"worker does not fit": func(g *allocator.Grant) { g.Worker = 1024 },
		"no token":            func(g *allocator.Grant) { g.Token = 0 },
		"before the epoch":    func(g *allocator.Grant) { g.From = -1 },
		"empty":               func(g *allocator.Grant) { g.Until = g.From },
		"after the end":       func(g *allocator.Grant) { g.Until = 1<<41 + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.cluster = newCluster(r.layout)
				r.cluster.forge = forge
			}, func(r *rig) {
				refused[*allocator.WindowEndedError](r)
				r.cluster.set(func() { r.cluster.forge = nil })
				r.next(0)
			})
		})
	}
	for name, forge := range map[string]func(*allocator.Grant){
		"another worker": func(g *allocator.Grant) { g.Worker++; g.Until += 3_600_000 },
		"another token":  func(g *allocator.Grant) { g.Token++; g.Until += 3_600_000 },
		"shorter":        func(g *allocator.Grant) { g.Until = g.From - 1; g.From -= 2 },
	} {
		t.Run("extension/"+name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				r.next(0)
				before := r.lane().ServeUntil
				r.cluster.set(func() {
					r.cluster.forge = func(g *allocator.Grant) {
						forge(g)
						r.cluster.forge = nil
					}
				})
				for range 100 {
					r.pass(100 * time.Millisecond)
					r.cluster.set(func() {
						if until, granted := r.lane().Until, r.cluster.workers[0].highWater; until > granted {
							r.Fatalf("the lane's window ends at tick %d, %d was granted", until, granted)
						}
					})
				}
				// The lane ignored the grant, and the repetition returned the granted window.
				if s := r.lane(); s.Worker != 0 || !s.ServeUntil.After(before) {
					r.Fatalf("%+v", s)
				}
				r.next(0)
			})
		})
	}
}

// The cluster's clock is far behind, so its grants have already ended. The lane must not request windows
// continuously.
func TestEndedWindows(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		before := r.lane().Until
		r.cluster.set(func() {
			r.cluster.forge = func(g *allocator.Grant) {
				before++
				g.Until = before
				r.cluster.workers[0].highWater = before
			}
		})
		r.pass(time.Minute)
		if err, _ := refused[*allocator.WindowEndedError](r); err.Cause == nil {
			r.Fatal(err)
		}
		if n := len(r.cluster.calls("extend")); n > 150 {
			r.Fatalf("%d extensions in a minute", n)
		}
		r.cluster.set(func() {
			r.cluster.forge = nil
		})
		r.pass(2 * time.Second)
		r.next(0)
	})
}

// The lane gives up on a call without a response after 5 s.
func TestHangingCall(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cfg.Observe = func(int64) {}
	}, func(r *rig) {
		r.next(0)
		r.cluster.hang.Store(true)
		r.pass(time.Minute)
		refused[*allocator.WindowEndedError](r)
		if n := len(r.cluster.calls("extend")); n < 8 || n > 13 {
			r.Fatalf("%d calls in a minute", n)
		}
		r.cluster.hang.Store(false)
		r.pass(6 * time.Second)
		r.next(0)
	})
}

func TestObservedClockOfGrants(t *testing.T) {
	var got []int64
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.forge = func(g *allocator.Grant) { g.ObservedMillis = 42 }
		r.cfg.Observe = func(ms int64) { got = append(got, ms) }
	}, func(r *rig) {
		r.pass(1500 * time.Millisecond)
		if len(got) != 2 || got[0] != 42 {
			r.Fatal(got)
		}
	})
}

func TestContextsAreHonoured(t *testing.T) {
	run(t, nil, func(r *rig) {
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.issuer.Next(canceled, 0); !errors.Is(err, context.Canceled) {
			r.Fatal(err)
		}
		r.take(6*4096, 0) // all cells up to --max-ahead
		if _, err := r.issuer.Take(canceled, nil, 1, 0); !errors.Is(err, context.Canceled) {
			r.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		var ranges []allocator.Range
		if took := timed(func() {
			var err error
			if ranges, err = r.issuer.Take(ctx, nil, 1_000_000, 0); !errors.Is(err, context.DeadlineExceeded) {
				r.Fatal(err)
			}
		}); !about(took, 10*time.Millisecond) {
			r.Fatalf("took %v", took)
		}
		ids := expand(ranges)
		for _, id := range ids {
			r.audit(id)
		}
		if len(ids) < 9*4096 || len(ids) > 11*4096 { // the first tick did not start at sequence 0, so one was left in part
			r.Fatalf("%d IDs in 10 ms", len(ids))
		}

		ctx, cancel = context.WithCancel(context.Background())
		time.AfterFunc(3*time.Millisecond, cancel)
		if took := timed(func() {
			if _, err := r.issuer.Take(ctx, nil, 1_000_000, 0); !errors.Is(err, context.Canceled) {
				r.Fatal(err)
			}
		}); !about(took, 3*time.Millisecond) {
			r.Fatalf("took %v", took)
		}
	})
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.before = func(call) error { return errDown }
	}, func(r *rig) {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		if took := timed(func() {
			if _, err := r.issuer.Next(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
				r.Fatal(err)
			}
		}); !about(took, 300*time.Millisecond) {
			r.Fatalf("took %v", took)
		}
	})
}
