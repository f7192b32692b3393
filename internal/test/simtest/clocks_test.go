package simtest

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// roles runs a test with a node in each role.
func roles(t *testing.T, o options, test func(*world, *node)) {
	t.Parallel()
	for name, pick := range map[string]func(*world) *node{"follower": (*world).follower, "leader": (*world).leader} {
		t.Run(name, func(t *testing.T) {
			simulate(t, o, func(w *world) {
				w.pass(2 * time.Minute) // until clocks were compared and the first windows have ended
				test(w, pick(w))
			})
		})
	}
}

// refusals checks that a node refuses all requests with errors of type E during d.
func refusals[E error](n *node, d time.Duration) (last E) {
	n.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); n.pass(100 * time.Millisecond) {
		if err := n.proc().issue(1, 0); !errors.As(err, &last) {
			n.Fatalf("%s: issue() = %v, want a %T\n%s", n.name, err, last, n.status())
		}
	}
	return last
}

// undisturbed checks that nodes issue without interruption during d.
func undisturbed(nodes []*node, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); nodes[0].pass(100 * time.Millisecond) {
		for _, n := range nodes {
			n.Helper()
			if err := n.proc().issue(1, 0); err != nil {
				n.Fatalf("%s: %v\n%s", n.name, err, n.status())
			}
		}
	}
}

func TestClockBackALittleWaits(t *testing.T) {
	roles(t, options{}, func(w *world, n *node) {
		before := n.proc().last.Load()
		n.clock.set(-500 * time.Millisecond)
		began := time.Now()
		if err := n.proc().issue(1, before); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 300*time.Millisecond || took > time.Second {
			t.Errorf("issue() took %v, want 300 ms to 1 s", took)
		}
		undisturbed(w.live(), time.Minute)
	})
}

func TestClockBackRefuses(t *testing.T) {
	roles(t, options{}, func(w *world, n *node) {
		others := w.others(n)
		n.clock.set(-5 * time.Second)
		last := refusals[*clock.BehindError](n, 3*time.Second)
		if last.Behind < 3*time.Second || last.Behind > 6*time.Second || last.Limit != time.Second {
			t.Errorf("behind by %v, limit %v; want 3 s to 6 s, limit 1 s", last.Behind, last.Limit)
		}
		refusals[*clock.BehindError](n, time.Minute)
		undisturbed(others, time.Minute)
		if w.leader() == n {
			t.Error("a member whose clock is 5 s behind leads")
		}
		n.clock.set(0)
		w.untilIssue(time.Second, n)
	})
}

func TestClockBackUnderSwapChangesWorker(t *testing.T) {
	roles(t, options{swap: true, maxWindow: short}, func(w *world, n *node) {
		worker := func() uint64 { return n.proc().member.Lanes()[0].Lanes[0].Worker }
		before := worker()
		n.clock.set(-5 * time.Second)
		took := w.untilIssue(2*time.Second, n)
		if worker() == before {
			t.Errorf("still issues with worker %d", before)
		}
		t.Logf("issued again after %v", took)
		undisturbed(w.live(), warm) // while its windows grow
		n.clock.set(0)
		undisturbed(w.live(), time.Minute)
	})
}

func TestClockForwardRefuses(t *testing.T) {
	roles(t, options{}, func(w *world, n *node) {
		n.clock.set(time.Hour)
		last := refusals[*clock.SkewError](n, time.Second)
		if last.Ahead < 59*time.Minute || last.Ahead > 61*time.Minute {
			t.Errorf("ahead by %v, want 59 min to 61 min", last.Ahead)
		}
		undisturbed(w.others(n), 10*time.Second)
		if w.leader() == n {
			t.Error("a member whose clock is an hour ahead leads")
		}
		refusals[*clock.SkewError](n, time.Minute)
		undisturbed(w.others(n), time.Minute)
		n.clock.set(0)
		w.untilIssue(2*time.Second, n)
		undisturbed(w.live(), time.Minute)
	})
}

// An isolated leader whose clock then becomes wrong must not bring the wrong time to the
// other members when the network heals.
func TestClockForwardOnIsolatedLeader(t *testing.T) {
	t.Parallel()
	const window = 20 * time.Second
	for _, planes := range [][]plane{allPlanes, {gossipPlane}, {raftPlane, apiPlane}} {
		simulate(t, options{maxWindow: window}, func(w *world) {
			w.pass(2 * window)
			n := w.leader()
			w.net.part([]*node{n}, w.others(n), planes...)
			w.pass(100 * time.Millisecond)
			n.clock.set(time.Hour)
			refusals[*clock.SkewError](n, 2*window)
			undisturbed(w.others(n), 3*window)
			w.net.heal()
			refusals[*clock.SkewError](n, window)
			undisturbed(w.others(n), window)
			n.clock.set(0)
			w.untilIssue(recovery, n)
			w.pass(window)
		})
	}
}

func TestAllClocksBack(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		w.pass(2 * time.Minute)
		w.setClocks(-5 * time.Second)
		for _, n := range w.live() {
			refusals[*clock.BehindError](n, time.Second)
		}
		// After 3 more seconds, the clocks have caught up with the observed clock.
		w.pass(3 * time.Second)
		undisturbed(w.live(), time.Minute)
		w.setClocks(0)
		w.untilAllIssue(5 * time.Second) // until the clocks are compared again
		undisturbed(w.live(), time.Minute)
	})
}

// If all clocks jump together, the time before was wrong.
func TestAllClocksForward(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		w.pass(2 * time.Minute)
		w.audit.mayBeAhead.Add(int64(time.Hour))
		term := w.leader().proc().member.Node().Term()
		w.setClocks(time.Hour)
		w.untilAllIssue(recovery)
		if now := w.leader().proc().member.Node().Term(); now > term+10 {
			t.Errorf("the term rose by %d, want at most 10", now-term)
		}
		undisturbed(w.live(), time.Minute)
		// If the time before was correct, an operator corrects the observed clock.
		w.setClocks(0)
		for _, n := range w.live() {
			refusals[*clock.BehindError](n, time.Minute)
		}
		w.until(recovery, "the observed clock is set back", func() bool {
			_, err := w.leader().proc().member.ObserveClock(w.Context(), true)
			return err == nil
		})
		// Lanes do not issue below their last IDs; new lanes may.
		for _, n := range w.nodes {
			if err := n.stop(); err != nil {
				t.Error(err)
			}
			n.start()
		}
		w.untilAllIssue(recovery)
		undisturbed(w.live(), time.Minute)
	})
}

func (w *world) setClocks(ahead time.Duration) {
	for _, n := range w.nodes {
		n.clock.set(ahead)
	}
}

func TestClockBackAcrossACrash(t *testing.T) {
	roles(t, options{}, func(w *world, n *node) {
		n.crash()
		n.clock.set(-5 * time.Second)
		n.start()
		w.pass(5 * time.Second)
		refusals[*clock.BehindError](n, time.Minute)
		undisturbed(w.others(n), time.Minute)
		n.clock.set(0)
		w.untilIssue(5*time.Second, n)
	})
}

func TestClocksBackAcrossACrashOfAll(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Hour} {
		simulate(t, options{}, func(w *world) {
			w.pass(2 * time.Minute)
			observed := w.leader().proc().member.State().Observed().Load()
			w.crashAll()
			w.setClocks(-back)
			w.startAll()
			if back > 10*time.Second {
				w.pass(5 * time.Second)
				for _, n := range w.nodes {
					refusals[*clock.BehindError](n, time.Minute)
				}
				w.setClocks(0)
			}
			w.untilAllIssue(20 * time.Second)
			for _, n := range w.nodes {
				if at := w.audit.layout.TimeOf(n.proc().last.Load()); at.UnixMilli() < observed {
					t.Errorf("%s issued for %v, before the observed clock %v", n.name, at, time.UnixMilli(observed))
				}
			}
			undisturbed(w.live(), time.Minute)
		})
	}
}

func (w *world) crashAll() {
	for _, n := range w.nodes {
		n.crash()
	}
}

// startAll starts the nodes that are down.
func (w *world) startAll() {
	w.Helper()
	for _, n := range w.nodes {
		if n.proc() == nil {
			n.start()
		}
	}
}

// A member whose clock gains 1 s in 100 s refuses requests when its clock is too far ahead. The
// other members do not follow that clock.
func TestClockDrifts(t *testing.T) {
	roles(t, options{maxWindow: short}, func(w *world, n *node) {
		n.clock.drift(0.01)
		w.until(2*time.Minute, "the clock is refused", func() bool {
			var skew *clock.SkewError
			return errors.As(n.proc().issue(1, 0), &skew)
		})
		if ahead := n.clock.ahead(); ahead < 400*time.Millisecond || ahead > 600*time.Millisecond {
			t.Errorf("refused at an offset of %v, want 400 ms to 600 ms", ahead)
		}
		undisturbed(w.others(n), warm)
		n.clock.drift(0)
		n.clock.set(0)
		w.untilIssue(recovery, n)
	})
}

// NTP corrections of slightly wrong clocks disturb no member.
func TestClocksAreSlewed(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		w.pass(time.Minute)
		for i, n := range w.nodes {
			n.clock.set(time.Duration(i-1) * 100 * time.Millisecond) // -100, 0, 100 ms
			n.clock.drift(float64(1-i) * 500e-6)                     // until they meet
		}
		w.pass(2 * time.Second)
		undisturbed(w.live(), 200*time.Second)
		for _, n := range w.nodes {
			n.clock.drift(float64(n.number) * 50e-6)
		}
		undisturbed(w.live(), time.Duration(depth.Of(3, 15))*time.Minute)
	})
}

// A process that starts with a clock far ahead has no earlier time to compare
// the clock with, and may become the leader.
func TestClockForwardAcrossACrash(t *testing.T) {
	roles(t, options{}, func(w *world, n *node) {
		n.crash()
		n.clock.set(time.Hour)
		n.start()
		undisturbed(w.others(n), time.Minute)
		refusals[*clock.SkewError](n, time.Minute)
		n.clock.set(0)
		w.untilIssue(recovery, n)
	})
}

func TestOneClockForwardAcrossACrashOfAll(t *testing.T) {
	t.Parallel()
	for i := range depth.Of(2, 9) {
		simulate(t, options{}, func(w *world) {
			w.pass(2 * time.Minute)
			n := w.nodes[i%3]
			w.crashAll()
			n.clock.set(time.Hour)
			for _, k := range w.rng.Perm(len(w.nodes)) {
				w.nodes[k].start()
				w.pass(w.between(0, time.Duration(i)*300*time.Millisecond))
			}
			w.untilIssue(20*time.Second, w.others(n)...)
			undisturbed(w.others(n), time.Minute)
			refusals[*clock.SkewError](n, time.Minute)
			n.clock.set(0)
			w.untilIssue(recovery, n)
			undisturbed(w.live(), time.Minute)
		})
	}
}
