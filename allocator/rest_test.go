package allocator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

func idle(r *rig) { r.cfg.Idle = 10 * time.Minute }

func TestIdleLaneReleasesItsWorker(t *testing.T) {
	run(t, idle, func(r *rig) {
		id := r.next(0)
		last, _ := r.layout.Unpack(id)
		r.pass(22 * time.Minute)
		k := r.cluster.calls("release")
		if s := r.lane(); len(k) != 1 || k[0].next != last.Tick+1 || !s.Idle || s.Token != 0 || s.Problem != "" {
			r.Fatalf("%+v, released %+v, want an idle lane and a release at %d", s, k, last.Tick+1)
		}
		calls := len(r.cluster.calls())
		r.pass(3 * time.Hour)
		if len(r.cluster.calls()) != calls {
			r.Fatalf("an idle lane called %+v", r.cluster.calls()[calls:])
		}
		if next := r.next(0); next <= id {
			r.Fatalf("%d after %d", next, id)
		}
		if s := r.lane(); s.Idle || s.Token != 2 || s.Problem != "" {
			r.Fatalf("%+v, want a lane that serves again", s)
		}
		r.pass(22 * time.Minute) // the same again
		r.next(0)
		if err := r.issuer.Close(r.Context()); err != nil || len(r.cluster.calls("release")) != 3 {
			r.Fatalf("close: %v, released %+v", err, r.cluster.calls("release"))
		}
	})
}

func TestIdleLaneIsClosed(t *testing.T) {
	run(t, idle, func(r *rig) {
		r.pass(time.Hour)
		if err := r.issuer.Close(r.Context()); err != nil || len(r.cluster.calls("release")) != 1 {
			r.Fatalf("close: %v, released %+v", err, r.cluster.calls("release"))
		}
	})
}

func TestUsedLaneStaysOpen(t *testing.T) {
	run(t, idle, func(r *rig) {
		for range 50 {
			r.next(0)
			r.pass(9 * time.Minute)
		}
		if n := len(r.cluster.calls("acquire")); n != 1 {
			r.Fatalf("%d acquisitions, want 1", n)
		}
	})
	run(t, nil, func(r *rig) { // without a limit
		r.next(0)
		r.pass(24 * time.Hour)
		if n := len(r.cluster.calls("acquire")); n != 1 {
			r.Fatalf("%d acquisitions, want 1", n)
		}
	})
}

// While extensions fail, the lane keeps its worker: without a quorum it would get no other one.
func TestIdleLaneKeepsItsWindowWithoutQuorum(t *testing.T) {
	run(t, idle, func(r *rig) {
		r.pass(9 * time.Minute)
		r.cluster.set(func() { r.cluster.before = func(call) error { return errDown } })
		r.pass(3*time.Minute + 30*time.Second)
		r.next(0)
	})
}

// A lane without a worker requests one while callers come, and for a minute afterwards.
func TestLaneWithoutWorkerStopsRequesting(t *testing.T) {
	run(t, func(r *rig) {
		idle(r)
		r.cluster = newCluster(r.layout)
		for id := range r.layout.Workers() {
			r.cluster.workers[id] = &worker{holder: "other", token: 1, highWater: r.layout.TickAt(someDay.Add(time.Hour).UnixMilli())}
		}
	}, func(r *rig) {
		r.settle()
		for range 5 {
			refused[*allocator.WorkersExhaustedError](r)
			r.pass(50 * time.Second)
		}
		r.pass(time.Minute)
		calls := len(r.cluster.calls())
		r.pass(20 * time.Minute)
		if s := r.lane(); len(r.cluster.calls()) != calls || !s.Idle || calls < 80 {
			r.Fatalf("%+v, called %+v of %d", s, r.cluster.calls()[calls:], calls)
		}
		if _, err := r.issuer.Next(r.Context(), 0); !errors.As(err, new(*allocator.WorkersExhaustedError)) {
			r.Fatal(err)
		}
		r.pass(40 * time.Minute)
		r.next(0)
	})
}

// A lane does not rest in a tick that it has used, because it could not continue in that tick.
func TestIdleLaneKeepsItsTick(t *testing.T) {
	run(t, func(r *rig) { idle(r); r.layout = hours(20) }, func(r *rig) {
		for range 8 {
			if took := timed(func() { r.next(0) }); took > time.Second {
				r.Fatalf("waited %v, want an ID at once", took)
			}
			r.pass(25 * time.Minute)
		}
		r.pass(time.Hour)
		if s, n := r.lane(), len(r.cluster.calls("acquire")); !s.Idle || n > 4 {
			r.Fatalf("%+v after %d acquisitions, want an idle lane and at most one for each tick", s, n)
		}
	})
}

// The lane also releases a swapped worker if it gets no other worker and becomes idle.
func TestIdleLaneReleasesSwappedWorker(t *testing.T) {
	run(t, func(r *rig) {
		idle(r)
		swap(r)
		r.layout = shape("tiny", 1, "time:41,worker:1,sequence:12", someDay.Add(-time.Hour))
	}, func(r *rig) {
		r.next(0)
		r.cluster.set(func() {
			r.cluster.before = func(k call) error {
				if k.kind == "acquire" {
					return errDown
				}
				return nil
			}
		})
		r.clock.jump(-5 * time.Second)
		r.pass(2 * time.Minute)
		if s, released := r.lane(), r.cluster.calls("release"); !s.Idle || len(released) != 1 {
			r.Errorf("%+v with %d releases, want an idle lane and 1", s, len(released))
		}
	})
}
