package allocator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

func TestClockBackALittle(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(10 * time.Second)
		before := r.next(0)
		r.clock.jump(-500 * time.Millisecond)
		var id uint64
		if took := timed(func() { id = r.next(0) }); !about(took, 495*time.Millisecond) || id <= before {
			r.Fatalf("%d after %d, waited %v", id, before, took)
		}
	})
}

func TestClockBackALot(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(10 * time.Second)
		r.observed.Store(r.clock.read().Wall)
		before := r.next(0)
		r.clock.jump(-5 * time.Second)
		err, took := refused[*clock.BehindError](r)
		if took != 0 || err.Behind != 5*time.Second || err.RetryAfter() != 4*time.Second {
			r.Fatalf("after %v: %v", took, err)
		}
		r.observed.Store(0) // without a replica, only the lane's own position shows the error
		err, took = refused[*clock.BehindError](r)
		if took != 0 || err.Behind != 5*time.Second {
			r.Fatalf("after %v: %v", took, err)
		}
		if err := r.issuer.Ready(); !errors.As(err, new(*clock.BehindError)) {
			r.Fatal(err)
		}
		if s := r.lane(); s.Problem == "" || s.Token == 0 {
			r.Fatalf("%+v", s)
		}
		calls := len(r.cluster.calls())
		r.pass(3900 * time.Millisecond)
		if refused[*clock.BehindError](r); len(r.cluster.calls()) != calls {
			r.Fatalf("proposed with a clock that moved backwards: %+v", r.cluster.calls()[calls:])
		}
		r.pass(200 * time.Millisecond)
		if id := r.next(0); id <= before {
			r.Fatalf("%d after %d", id, before)
		}

		// When the clock is correct again, the lane serves at once.
		r.pass(2 * time.Minute)
		r.next(0)
		r.clock.jump(-5 * time.Second)
		refused[*clock.BehindError](r)
		r.clock.jump(5 * time.Second)
		if took := timed(func() { r.next(0) }); took != 0 {
			r.Fatalf("waited %v", took)
		}
	})
}

func TestSwap(t *testing.T) {
	for _, observed := range []bool{false, true} {
		run(t, func(r *rig) {
			swap(r)
			r.cfg.Lanes = 2
		}, func(r *rig) {
			for k := range 2 {
				r.pass(10 * time.Second)
				r.take(49_000, 0)
				if observed {
					r.observed.Store(r.clock.read().Wall)
				}
				r.clock.jump(-5 * time.Second)
				if took := timed(func() { r.take(49_000, 0) }); took > 20*time.Millisecond {
					r.Fatalf("swap %d took %v", k, took)
				}
				r.settle()
				if n := len(r.cluster.calls("release")); n < k+1 || n > 2*(k+1) {
					r.Fatalf("%d workers were released after swap %d", n, k)
				}
			}
			for _, s := range r.issuer.Lanes() {
				if s.Token == 0 || s.Problem != "" {
					r.Fatalf("%+v", s)
				}
			}
		})
	}
}

// Every worker is ahead of the clock: swap has no free worker to use, and must not request workers
// continuously.
func TestSwapWithoutAFreeWorker(t *testing.T) {
	run(t, func(r *rig) {
		swap(r)
		r.layout = shape("tiny", 1, "time:41,worker:1,sequence:12", someDay.Add(-time.Hour))
	}, func(r *rig) {
		r.pass(10 * time.Second)
		r.next(0)
		r.clock.jump(-5 * time.Second)
		r.next(0)
		r.clock.jump(-5 * time.Second)
		err, _ := refused[*allocator.WorkersExhaustedError](r)
		calls := len(r.cluster.calls("acquire"))
		r.pass(time.Until(r.clock.start.Add(err.RetryAt.Sub(someDay)+10*time.Second)) + 2*time.Second)
		r.next(0)
		if n := len(r.cluster.calls("acquire")) - calls; n > 20 {
			r.Fatalf("requested %d times", n)
		}
	})
}

func TestForwardJump(t *testing.T) {
	run(t, nil, func(r *rig) {
		before := r.next(0)
		r.clock.jump(time.Hour)
		err, took := refused[*clock.SkewError](r)
		if took != 0 || err.Ahead != time.Hour {
			r.Fatalf("after %v: %v", took, err)
		}
		if err := r.issuer.Ready(); !errors.As(err, new(*clock.SkewError)) {
			r.Fatal(err)
		}
		calls := len(r.cluster.calls())
		r.pass(time.Minute)
		if refused[*clock.SkewError](r); len(r.cluster.calls()) != calls {
			r.Fatalf("proposed with a clock that is ahead: %+v", r.cluster.calls()[calls:])
		}
		r.clock.jump(-time.Hour)
		var id uint64
		if took := timed(func() { id = r.next(0) }); took > 200*time.Millisecond || id <= before {
			r.Fatalf("%d after %d, after %v", id, before, took)
		}
	})
}

// A clock that jumps within the allowed limits may jump over the window's end.
func TestClockJumpsOverTheWindow(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.pass(900 * time.Millisecond)
		for range 4 {
			r.clock.jump(400 * time.Millisecond)
			r.watch.ObservePeer("a", r.clock.read().Wall, 0)
			if took := timed(func() { r.next(0) }); took != 0 {
				r.Fatalf("waited %v", took)
			}
		}
	})
}

// restart starts the process again, with a changed clock.
func (r *rig) restart(jump time.Duration) {
	r.Helper()
	if err := r.issuer.Close(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.clock.jump(jump)
	r.watch = clock.NewWatch(r.clock.read, &r.observed, r.watch.Limits())
	r.cfg.Watch = r.watch
	r.open()
}

func TestClockBackAcrossARestart(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(10 * time.Second)
		before := r.next(0)
		r.observed.Store(r.clock.read().Wall)
		r.restart(-500 * time.Millisecond)
		var id uint64
		if took := timed(func() { id = r.next(0) }); !about(took, 500*time.Millisecond-aheadOfClock) || id <= before {
			r.Fatalf("%d after %d, waited %v", id, before, took)
		}

		r.observed.Store(r.clock.read().Wall)
		calls := len(r.cluster.calls("acquire"))
		r.restart(-5 * time.Second)
		r.pass(3900 * time.Millisecond)
		if err, _ := refused[*clock.BehindError](r); err.Behind != 1100*time.Millisecond {
			r.Fatal(err)
		}
		if n := len(r.cluster.calls("acquire")); n != calls {
			r.Fatal("requested a worker with a clock that moved backwards")
		}
		r.pass(200 * time.Millisecond)
		r.next(0)

		swap(r)
		r.observed.Store(r.clock.read().Wall)
		r.restart(-5 * time.Second)
		if took := timed(func() { r.next(0) }); took != 0 {
			r.Fatalf("under swap: waited %v", took)
		}
	})
}

// The observed clock stays ahead of a clock that is a little behind the leader's: one wait for it is enough.
func TestObservedClockStaysAhead(t *testing.T) {
	run(t, func(r *rig) {
		r.observed.Store(r.clock.read().Wall + 50)
		go func() {
			for range 200 {
				time.Sleep(time.Millisecond) // simulated time
				r.observed.Store(r.clock.read().Wall + 50)
			}
		}()
	}, func(r *rig) {
		defer r.pass(time.Second)
		if took := timed(func() { r.next(0) }); !about(took, 51*time.Millisecond-aheadOfClock) {
			r.Fatalf("waited %v", took)
		}
	})
}

// A member that has just started knows no observed clock, or an early one, but the cluster that grants it a worker knows the
// present one. That time may be after the first window.
func TestObservedClockIsKnownWithTheGrant(t *testing.T) {
	for _, c := range []struct{ known, behind time.Duration }{
		{-time.Hour, -300 * time.Millisecond},
		{-time.Hour, 300 * time.Millisecond},
		{200 * time.Millisecond, 900 * time.Millisecond},
		{-time.Hour, 2900 * time.Millisecond},
		{time.Second, 2900 * time.Millisecond},
	} {
		var observed int64
		run(t, func(r *rig) {
			r.watch.SetLimits(clock.Limits{WaitThreshold: 3 * time.Second, MaxOffset: 500 * time.Millisecond})
			now := r.clock.read().Wall
			observed = now + c.behind.Milliseconds()
			r.observed.Store(now + c.known.Milliseconds())
			r.cluster = newCluster(r.layout)
			r.cluster.forge = func(g *allocator.Grant) { g.ObservedMillis = observed }
		}, func(r *rig) {
			var id uint64
			took := timed(func() { id = r.next(0) })
			if want := max(0, c.behind+time.Millisecond-aheadOfClock); !about(took, want) {
				r.Errorf("%v behind: waited %v, want %v", c.behind, took, want)
			}
			if parts, _ := r.layout.Unpack(id); r.layout.MillisAt(parts.Tick) <= observed {
				r.Errorf("%v behind: issued at %d, when %d had been observed", c.behind, r.layout.MillisAt(parts.Tick), observed)
			}
		})
	}
}

func TestClockBeforeTheEpoch(t *testing.T) {
	run(t, func(r *rig) { r.clock.jump(-30 * 365 * 24 * time.Hour) }, func(r *rig) {
		r.settle()
		if _, took := refused[*clock.BehindError](r); took != 0 {
			r.Fatalf("waited %v", took)
		}
		r.clock.jump(30 * 365 * 24 * time.Hour)
		r.watch.ObservePeer("a", r.clock.read().Wall, 0)
		r.next(0)
		r.clock.jump(-30 * 365 * 24 * time.Hour)
		refused[*clock.BehindError](r)
	})
}

func TestEndOfTime(t *testing.T) {
	layout := shape("short", 1, "time:13,worker:5,sequence:4", someDay)
	run(t, func(r *rig) { r.layout = layout }, func(r *rig) {
		last := uint64(0)
		for {
			id, err := r.issuer.Next(r.Context(), last)
			if errors.Is(err, allocator.ErrTimeExhausted) {
				break
			}
			if err != nil {
				r.Fatal(err)
			}
			r.audit(id)
			last = id
			if p, _ := layout.Unpack(id); p.Sequence == 3 {
				r.pass(time.Millisecond)
			}
		}
		if p, _ := layout.Unpack(last); p.Tick != 1<<13-1 {
			r.Fatalf("the last ID is %+v", p)
		}
		for range 3 {
			if _, err := r.issuer.Next(r.Context(), 0); !errors.Is(err, allocator.ErrTimeExhausted) {
				r.Fatal(err)
			}
			if err := r.issuer.Ready(); !errors.Is(err, allocator.ErrTimeExhausted) {
				r.Fatal(err)
			}
			r.pass(10 * time.Second)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	watch := clock.NewWatch(clock.System(), nil, limits)
	good := allocator.Config{Layout: snowflake.Default(), Holder: "a", Granter: newCluster(snowflake.Default()), Watch: watch}
	for name, change := range map[string]func(*allocator.Config){
		"no layout":              func(c *allocator.Config) { c.Layout = nil },
		"no granter":             func(c *allocator.Config) { c.Granter = nil },
		"no watch":               func(c *allocator.Config) { c.Watch = nil },
		"no holder":              func(c *allocator.Config) { c.Holder = "" },
		"too many lanes":         func(c *allocator.Config) { c.Lanes = 65 },
		"negative lanes":         func(c *allocator.Config) { c.Lanes = -1 },
		"a layout that decodes":  func(c *allocator.Config) { c.Layout = must("discord") },
		"a layout that is full":  func(c *allocator.Config) { c.Layout = must("baidu") },
		"a layout with no issue": func(c *allocator.Config) { c.Layout = must("mastodon") },
	} {
		cfg := good
		change(&cfg)
		if i, err := allocator.Open(cfg); !errors.Is(err, allocator.ErrInvalidArgument) || i != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	run(t, nil, func(r *rig) {
		if _, err := r.issuer.Take(r.Context(), nil, 0, 0); !errors.Is(err, allocator.ErrInvalidArgument) {
			r.Fatal(err)
		}
	})
}
