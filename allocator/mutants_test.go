//go:build mutants

package allocator_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/mutant"
)

// What the auditor of the other tests looks for, in one scenario: a process
// that starts again, and callers with floors. It reports the first fault.
func fault(t *testing.T) (fault string) {
	run(t, func(r *rig) { r.cfg.Holder = t.Name() }, func(r *rig) {
		take := func(after uint64) (id uint64, ok bool) {
			id, err := r.issuer.Next(r.Context(), after)
			if err != nil {
				r.Fatal(err)
			}
			p, _ := r.layout.Unpack(id)
			switch {
			case r.seen[id]:
				fault = "issued twice"
			case id <= after:
				fault = "not above the floor"
			case !r.cluster.covers(p.Worker, p.Tick, r.cfg.Nonce):
				fault = "outside of every window"
			}
			r.seen[id] = true
			return id, fault == ""
		}
		for range 3 {
			for range 50 {
				last, ok := take(0)
				floor := r.layout.Compose(r.layout.TickAt(r.clock.read().Wall)+2, r.layout.Workers()-1, 0)
				for _, after := range []uint64{last, floor} {
					if !ok {
						return
					}
					_, ok = take(after)
				}
				r.pass(100 * time.Microsecond)
			}
			r.pass(10 * time.Millisecond)
			for range 3 { // in the tick in which it starts again
				if _, ok := take(0); !ok {
					return
				}
			}
			if err := r.issuer.Close(r.Context()); err != nil {
				r.Fatal(err)
			}
			r.open()
		}
	})
	return fault
}

func TestPlantedBugsAreCaught(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.IgnoreAfter, mutant.ReuseWindow, mutant.ReleaseTooLow} {
		t.Run("bug="+string(bug), func(t *testing.T) {
			undo := mutant.Plant(bug)
			defer undo()
			got := fault(t)
			if (got != "") != (bug != "") {
				t.Fatalf("found %q", got)
			}
			t.Logf("found %q", got)
		})
	}
}
