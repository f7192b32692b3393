package allocator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// A process restarts in the tick in which it was stopped, and callers send floors.
func TestRestartsInOneTickKeepIDsUnique(t *testing.T) {
	run(t, nil, func(r *rig) {
		for range 3 {
			for range 50 {
				last := r.next(0)
				r.next(last)
				r.next(r.layout.Compose(r.layout.TickAt(r.clock.read().Wall)+2, r.layout.Workers()-1, 0))
				r.pass(100 * time.Microsecond)
			}
			r.pass(10 * time.Millisecond)
			for range 3 {
				r.next(0)
			}
			r.again()
		}
	})
}

// again restarts the process.
func (r *rig) again() {
	r.Helper()
	if err := r.issuer.Close(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.open()
}

// The window of a stopped process belongs to its nonce, so the next process requests its own window.
func TestRestartAcquiresAnotherWindow(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		before := r.lane()
		_ = r.issuer.Close(r.Context())
		r.open()
		r.settle()
		if now := r.lane(); now.Token == before.Token || now.Token == 0 || len(r.cluster.calls("acquire")) != 2 {
			r.Errorf("%+v after %+v, with %d acquisitions", now, before, len(r.cluster.calls("acquire")))
		}
	})
}

// The clock moves back a little in a tick in which IDs were issued.
func TestClockBackWithinUsedTicksKeepsIDsUnique(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(5 * time.Second)
		for range 10 {
			r.take(100, 0)
			r.clock.jump(-20 * time.Millisecond)
			r.take(100, 0)
		}
	})
}

// Callers request more IDs than a tick has sequence numbers for.
func TestFullTicksKeepIDsUnique(t *testing.T) {
	run(t, nil, func(r *rig) {
		for range 10 {
			r.take(20_000, 0)
			r.pass(time.Millisecond)
		}
	})
}

// The cluster neither grants nor refuses extensions for longer than the window lasts, and then is reachable
// again.
func TestUnansweredExtensionsEndTheWindow(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.cluster.set(func() {
			r.cluster.before = func(k call) error {
				if k.kind == "extend" {
					return errors.New("lost")
				}
				return nil
			}
		})
		for range 50 {
			r.pass(100 * time.Millisecond)
			id, err := r.issuer.Next(r.Context(), 0)
			if err == nil {
				r.audit(id)
			} else if _, ended := errors.AsType[*allocator.WindowEndedError](err); !ended {
				r.Fatal(err)
			}
		}
		r.cluster.set(func() { r.cluster.before = nil })
		r.pass(3 * time.Second)
		r.next(0)
	})
}

// The cluster grants a worker that does not exist.
func TestWorkerOutOfRangeIsNotUsed(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.cluster.set(func() { r.cluster.forge = func(g *allocator.Grant) { g.Worker = r.layout.Workers() + 5 } })
		r.again()
		r.settle()
		r.cluster.set(func() { r.cluster.forge = nil })
		r.next(0)
	})
}
