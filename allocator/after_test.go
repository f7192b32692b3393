package allocator_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// at returns the first ID of a worker at a time ahead of the clock.
func (r *rig) at(ahead time.Duration) uint64 {
	return r.layout.Compose(r.layout.TickAt(r.clock.read().Wall+ahead.Milliseconds()), 0, 0)
}

// TestAfterInTheFuture: the wait threshold is 1 s and the allowed offset 500 ms.
func TestAfterInTheFuture(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.compare()
		r.next(0)
		r.next(r.at(900 * time.Millisecond)) // the call waits for the clock
		for _, ahead := range []time.Duration{1100 * time.Millisecond, 1500 * time.Millisecond} {
			var behind *clock.BehindError
			if _, err := r.issuer.Next(r.Context(), r.at(ahead)); !errors.As(err, &behind) || errors.Is(err, allocator.ErrInvalidArgument) || behind.RetryAfter() > 600*time.Millisecond {
				r.Errorf("%v ahead: %v, want a clock behind", ahead, err)
			}
		}
		for _, after := range []uint64{r.at(1600 * time.Millisecond), r.at(time.Hour), r.at(60 * 365 * 24 * time.Hour), 1<<63 - 1, math.MaxUint64} {
			took := timed(func() {
				if _, err := r.issuer.Next(r.Context(), after); !errors.Is(err, allocator.ErrInvalidArgument) || errors.As(err, new(*clock.BehindError)) {
					r.Errorf("after %d: %v, want an invalid argument", after, err)
				}
			})
			if ranges, err := r.issuer.Take(r.Context(), nil, 5, after); !errors.Is(err, allocator.ErrInvalidArgument) || took != 0 || len(ranges) != 0 {
				r.Errorf("after %d: %v, %v after %v, want an invalid argument at once", after, ranges, err, took)
			}
		}
		if err := r.issuer.Ready(); err != nil {
			r.Error(err)
		}
		// This clock is behind the observed clock by the allowed offset. The other member's clock may therefore
		// be further ahead of this clock.
		r.observed.Store(r.clock.read().Wall + 900)
		if _, err := r.issuer.Next(r.Context(), r.at(2300*time.Millisecond)); !errors.As(err, new(*clock.BehindError)) {
			r.Errorf("2.3s ahead of a clock that is 900ms behind: %v, want a clock behind", err)
		}
	})
}

// The error for a floor too far in the future also shows while there is no window.
func TestAfterInTheFutureWithoutWindow(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.before = func(call) error { return errDown }
	}, func(r *rig) {
		r.compare()
		if _, err := r.issuer.Next(r.Context(), r.at(time.Hour)); !errors.Is(err, allocator.ErrInvalidArgument) {
			r.Error(err)
		}
	})
}

// With ticks of 1 min, the next tick is not too far in the future, however late it begins.
func TestAfterWithCoarseTicks(t *testing.T) {
	run(t, func(r *rig) {
		r.layout = snowflake.MustNew(snowflake.Spec{
			Name: "minutes", UnitMillis: 60_000, EpochMillis: someDay.Add(-24 * time.Hour).UnixMilli(), Fields: []snowflake.FieldBits{
				{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 8}, {Field: snowflake.FieldSequence, Bits: 4},
			},
		})
	}, func(r *rig) {
		r.compare()
		r.pass(10 * time.Second)
		tick := r.layout.TickAt(r.clock.read().Wall)
		if took := timed(func() { r.next(r.layout.Compose(tick, 255, 15)) }); took > 51*time.Second {
			r.Errorf("waited %v, want the rest of the minute", took)
		}
		if _, err := r.issuer.Next(r.Context(), r.layout.Compose(tick+3, 0, 0)); !errors.Is(err, allocator.ErrInvalidArgument) {
			r.Error(err)
		}
	})
}

func TestAfter(t *testing.T) {
	for _, layout := range []*snowflake.Layout{snowflake.Default(), must("sonyflake")} {
		run(t, func(r *rig) { r.layout = layout }, func(r *rig) {
			r.compare()
			r.next(0)
			at := func(ahead time.Duration, worker uint64) uint64 {
				return layout.Compose(layout.TickAt(r.clock.read().Wall+ahead.Milliseconds()), worker, layout.Sequences()-1)
			}
			last := uint64(0)
			for _, worker := range []uint64{0, layout.Workers() - 1} {
				for _, ahead := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond, 900 * time.Millisecond} {
					floor := at(ahead, worker)
					var id uint64
					if took := timed(func() { id = r.next(floor) }); took > ahead+10*time.Millisecond || took < ahead-6*time.Millisecond || id <= last {
						r.Fatalf("%v ahead: waited %v for %d after %d", ahead, took, id, last)
					}
					last = id
				}
			}
			for _, id := range r.take(3000, at(10*time.Millisecond, 1)) {
				if id <= last {
					r.Fatalf("%d after %d", id, last)
				}
				last = id
			}
			// A floor out of reach is refused and does not affect other callers.
			r.pass(20 * time.Second)
			ahead := 1200 * time.Millisecond
			var behind *clock.BehindError
			if _, err := r.issuer.Next(r.Context(), at(ahead, 1)); !errors.As(err, &behind) ||
				behind.Behind < ahead-10*time.Millisecond || behind.Behind > ahead+20*time.Millisecond {
				r.Fatalf("%v ahead: %v", ahead, err)
			}
			for _, floor := range []uint64{at(time.Hour, 1), at(20*365*24*time.Hour, 1), 1<<layout.Bits() - 1, 1 << layout.Bits(), math.MaxUint64} {
				if _, err := r.issuer.Next(r.Context(), floor); !errors.Is(err, allocator.ErrInvalidArgument) {
					r.Fatalf("above %d: %v", floor, err)
				}
			}
			if p := r.audit(r.next0()); p.Tick != layout.TickAt(r.clock.read().Wall) {
				r.Fatalf("the position was pushed: %+v", p)
			}
		})
	}
}

// next0 takes one ID without a floor. The caller audits it.
func (r *rig) next0() uint64 {
	r.Helper()
	id, err := r.issuer.Next(r.Context(), 0)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// An ID of another member is within reach of the majority's clock, however far this clock and the observed
// clock are behind it.
func TestAfterOfAnotherClock(t *testing.T) {
	for behind, observed := range map[time.Duration]time.Duration{
		1300 * time.Millisecond: 1250 * time.Millisecond, // all within their limits, with an observed clock 0.8 s old
		time.Hour:               time.Hour,               // the clock moved backwards, without contact to the log
	} {
		run(t, nil, func(r *rig) {
			r.next(0)
			majority := r.clock.read().Wall + behind.Milliseconds()
			r.observed.Store(majority - observed.Milliseconds())
			for _, id := range []string{"a", "c"} {
				r.watch.ObserveMember(id, majority, 0, true)
			}
			after := r.at(behind + 450*time.Millisecond)
			if _, err := r.issuer.Next(r.Context(), after); !errors.As(err, new(*clock.BehindError)) || errors.Is(err, allocator.ErrInvalidArgument) {
				r.Errorf("%v behind the majority: %v, want a clock behind", behind, err)
			}
		})
	}
}

// A process that has not compared its clock, or whose only peer shows another time, cannot know that its clock is right.
func TestAfterOfUntrustedClock(t *testing.T) {
	for name, compare := range map[string]func(*rig){
		"not compared": func(*rig) {},
		"disputed":     func(r *rig) { r.watch.ObserveMember("a", r.clock.read().Wall+2000, 0, true) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				compare(r)
				var behind *clock.BehindError
				if _, err := r.issuer.Next(r.Context(), r.at(2*time.Second)); !errors.As(err, &behind) || behind.Behind != 2*time.Second {
					r.Errorf("2s ahead: %v, want a clock behind", err)
				}
			})
		})
	}
}
