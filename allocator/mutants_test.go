//go:build mutants

package allocator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/mutant"
)

// look is what the auditor of the other tests does, for one that goes on: it notes the first fault.
type look struct {
	*rig
	fault string
}

func (l *look) next(after uint64) uint64 {
	id, err := l.issuer.Next(l.Context(), after)
	if err != nil {
		l.Fatal(err)
	}
	l.judge(id, after)
	return id
}

func (l *look) take(count uint32) {
	ranges, err := l.issuer.Take(l.Context(), nil, count, 0)
	if err != nil {
		l.Fatal(err)
	}
	for _, id := range expand(ranges) {
		l.judge(id, 0)
	}
}

func (l *look) judge(id, after uint64) {
	p, _ := l.layout.Unpack(id)
	switch {
	case l.fault != "":
	case l.seen[id]:
		l.fault = "issued twice"
	case id <= after:
		l.fault = "not above the floor"
	case !l.cluster.covers(p.Worker, p.Tick, l.cfg.Nonce):
		l.fault = "outside of every window"
	}
	l.seen[id] = true
}

// again is the process that starts again, in the tick in which it was stopped.
func (l *look) again() {
	if err := l.issuer.Close(l.Context()); err != nil && l.fault == "" {
		l.Fatal(err)
	}
	l.open()
}

// restarts is a process that starts again, and callers with floors.
func (l *look) restarts() {
	for range 3 {
		for range 50 {
			last := l.next(0)
			l.next(last)
			l.next(l.layout.Compose(l.layout.TickAt(l.clock.read().Wall)+2, l.layout.Workers()-1, 0))
			l.pass(100 * time.Microsecond)
		}
		l.pass(10 * time.Millisecond)
		for range 3 {
			l.next(0)
		}
		l.again()
	}
}

// backward is a clock that goes back a little in a tick in which IDs were issued.
func (l *look) backward() {
	l.pass(5 * time.Second)
	for range 10 {
		l.take(100)
		l.clock.jump(-20 * time.Millisecond)
		l.take(100)
	}
}

// rush is more requests than a tick has sequences for.
func (l *look) rush() {
	for range 10 {
		l.take(20_000)
		l.pass(time.Millisecond)
	}
}

// silence is a cluster that carries no extension out for longer than the window lasts, and says
// nothing; then it can be reached again.
func (l *look) silence() {
	l.next(0)
	l.cluster.set(func() {
		l.cluster.before = func(k call) error {
			if k.kind == "extend" {
				return errors.New("lost")
			}
			return nil
		}
	})
	for range 50 {
		l.pass(100 * time.Millisecond)
		id, err := l.issuer.Next(l.Context(), 0)
		if err == nil {
			l.judge(id, 0)
		} else if _, ended := errors.AsType[*allocator.WindowEndedError](err); !ended {
			l.Fatal(err)
		}
	}
	l.cluster.set(func() { l.cluster.before = nil })
	l.pass(3 * time.Second)
	l.next(0)
}

// crowd is a cluster that grants workers that do not exist.
func (l *look) crowd() {
	l.next(0)
	l.cluster.set(func() { l.cluster.forge = func(g *allocator.Grant) { g.Worker = l.layout.Workers() + 5 } })
	l.again()
	l.settle()
	l.cluster.set(func() { l.cluster.forge = nil })
	l.next(0)
}

func TestPlantedBugsAreCaught(t *testing.T) {
	for _, c := range []struct {
		bug      mutant.Bug
		scenario func(*look)
	}{
		{mutant.IgnoreAfter, (*look).restarts},
		{mutant.ReuseWindow, (*look).restarts},
		{mutant.ReleaseTooLow, (*look).restarts},
		{mutant.ResetBeforeCheck, (*look).backward},
		{mutant.SequenceWraps, (*look).rush},
		{mutant.AssumeExtended, (*look).silence},
		{mutant.WorkerOutOfRange, (*look).crowd},
	} {
		for _, bug := range []mutant.Bug{"", c.bug} {
			t.Run(string(c.bug)+"/bug="+string(bug), func(t *testing.T) {
				t.Setenv("SNOWRAFT_MUTANT_DIR", t.TempDir())
				defer mutant.Plant(bug)()
				run(t, func(r *rig) { r.cfg.Holder = t.Name() }, func(r *rig) {
					l := &look{rig: r}
					c.scenario(l)
					if (l.fault != "") != (bug != "") {
						t.Fatalf("found %q", l.fault)
					}
					t.Logf("found %q", l.fault)
				})
			})
		}
	}
}

// The window that is gone on in is that of a process that is no more.
func TestReusedWindowOutlivesItsProcess(t *testing.T) {
	t.Setenv("SNOWRAFT_MUTANT_DIR", t.TempDir())
	defer mutant.Plant(mutant.ReuseWindow)()
	run(t, nil, func(r *rig) {
		r.next(0)
		before := r.lane()
		r.issuer.Close(r.Context())
		r.open()
		r.settle()
		if now := r.lane(); now.Token != before.Token || len(r.cluster.calls("acquire")) != 1 {
			r.Errorf("%+v after %+v, with %d acquisitions", now, before, len(r.cluster.calls("acquire")))
		}
		r.pass(3 * time.Second) // the extension is refused
		if now := r.lane(); now.Token == before.Token || now.Token == 0 {
			r.Errorf("still %+v", now)
		}
	})
}
