package simtest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"
)

// workersUsed returns the number of workers ever granted.
func (w *world) workersUsed() (used int) {
	w.leader().proc().member.State().View(func(s *fsm.State) {
		used = len(s.Workers(w.layout.Name, 0, 1<<20))
	})
	return used
}

// workersBounded checks that the processes used at most one worker per lane and start.
func (w *world) workersBounded() {
	w.Helper()
	used, lanes := w.workersUsed(), len(w.audit.starts)*max(1, w.lanes)
	w.Logf("%d workers used by %d lanes", used, lanes)
	if used > lanes {
		w.Errorf("%d workers were used by %d lanes", used, lanes)
	}
}

func TestCrashLoopOfOneMember(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		w.pass(time.Minute)
		n := w.follower()
		for range depth.Of(20, 50) {
			n.crash()
			w.pass(w.between(0, 200*time.Millisecond))
			n.start()
			w.pass(w.between(0, 2*time.Second))
		}
		w.untilIssue(5*time.Second, n)
		undisturbed(w.live(), time.Minute)
		w.workersBounded()
	})
}

// TestKilledMemberIssuesSoonAfterStart keeps killed members down for longer than a message waits for its answer, because the
// simulated network does not report the end of a process.
func TestKilledMemberIssuesSoonAfterStart(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		slowest := time.Duration(0)
		for _, away := range []time.Duration{2 * transportTimeout, time.Minute, 5 * time.Minute} {
			for range depth.Of(1, 10) {
				w.pass(w.between(30*time.Second, time.Minute))
				n := w.follower()
				n.crash()
				w.pass(away)
				n.start()
				slowest = max(slowest, w.untilIssue(time.Second, n))
			}
		}
		t.Logf("all issued within %v", slowest)
	})
}

func TestCrashStormOfAllMembers(t *testing.T) {
	t.Parallel()
	simulate(t, options{members: 5, lanes: 2, sequences: ofAllKinds()}, func(w *world) {
		slowest := time.Duration(0)
		for range depth.Of(3, 25) {
			if w.rng.IntN(6) == 0 {
				w.crashAll()
			}
			for _, n := range w.live() {
				if w.rng.IntN(3) == 0 {
					n.crash()
				}
			}
			w.pass(w.between(0, 3*time.Second))
			w.startAll()
			if w.rng.IntN(2) == 0 { // otherwise the next crashes come before the recovery
				slowest = max(slowest, w.untilAllIssue(recovery))
			}
			w.pass(w.between(0, 10*time.Second))
		}
		slowest = max(slowest, w.untilAllIssue(recovery))
		undisturbed(w.live(), time.Minute)
		t.Logf("all issued again within %v", slowest)
		w.workersBounded()
	})
}

// A graceful shutdown discards nothing: a lane resumes with its worker.
func TestGracefulRestarts(t *testing.T) {
	t.Parallel()
	simulate(t, options{lanes: 2, sequences: ofAllKinds()}, func(w *world) {
		for i := range depth.Of(10, 20) {
			n := w.nodes[i%len(w.nodes)]
			if i%5 == 0 {
				n = w.leader()
			}
			if err := n.stop(); err != nil {
				t.Errorf("%s: %v", n.name, err)
			}
			w.pass(w.between(0, time.Second))
			n.start()
			// The others wait for answers of the stopped process, and send nothing else to the new one meanwhile.
			w.untilIssue(transportTimeout+2*time.Second, n)
			w.pass(w.between(0, 5*time.Second))
		}
		if used, lanes := w.workersUsed(), len(w.nodes)*2; used != lanes {
			t.Errorf("%d workers for %d lanes", used, lanes)
		}
	})
}

// few returns the default layout with a smaller worker field.
func few(workerBits uint8) snowflake.Spec {
	spec := snowflake.Default().Spec()
	for i := range spec.Fields {
		if spec.Fields[i].Field == snowflake.FieldWorker {
			spec.Fields[i].Bits = workerBits
		}
	}
	return spec
}

func TestWorkersRunOut(t *testing.T) {
	// The leader's clock judged RetryAt before the command was written, replicated and answered; each step takes up to 30 ms.
	const travels = 200 * time.Millisecond
	t.Parallel()
	simulate(t, options{lanes: 2, layout: few(3), maxWindow: short}, func(w *world) { // 6 of 8 workers are taken
		w.pass(short)
		n := w.follower()
		refused := 0
		for range 20 {
			n.crash()
			n.start()
			var out *allocator.WorkersExhaustedError
			last := n.proc().lastRefusal()
			for began := time.Now(); !errors.As(last.err, &out) && time.Since(began) < w.between(time.Second, 8*time.Second); {
				w.pass(100 * time.Millisecond)
				last = n.proc().lastRefusal()
			}
			if out == nil {
				continue
			}
			refused++
			wait := out.RetryAt.Sub(last.at)
			t.Logf("a worker is free in %v", wait.Round(time.Millisecond))
			if wait < -travels || wait > short {
				t.Errorf("RetryAt is in %v, want %v to %v", wait, -travels, short)
			}
			w.untilIssue(max(0, time.Until(out.RetryAt))+2*time.Second, n)
		}
		if refused == 0 {
			t.Error("the workers did not run out")
		}
		undisturbed(w.others(n), time.Minute)
	})
}

// When all members shut down at once, the next leader may be gone before it takes over leadership.
func TestAllShutDownAtOnce(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	simulate(t, options{}, func(w *world) {
		slowest := time.Duration(0)
		for range depth.Of(15, 40) {
			w.pass(w.between(0, 3*time.Second))
			var closing sync.WaitGroup
			began := time.Now()
			for _, n := range w.nodes {
				closing.Go(func() { _ = n.stopWithin(limit) })
			}
			closing.Wait()
			slowest = max(slowest, time.Since(began))
			w.startAll()
			w.untilAllIssue(recovery)
		}
		t.Logf("the slowest shutdown took %v", slowest)
		// Answers may be lost: to the request for a window for 5 s, to the release of a worker for 5 s, and to exchanges of gossip for a few
		// seconds. The transfer of leadership takes 1 s. Only a wait without a limit of its own lasts until that of the shutdown.
		if slowest > limit/2 {
			t.Errorf("the slowest shutdown took %v, want at most %v", slowest, limit/2)
		}
	})
}
