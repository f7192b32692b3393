package allocator_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// loseReplies makes the cluster carry out that many extensions without a reply.
func (r *rig) loseReplies(n int) {
	r.cluster.set(func() {
		r.cluster.after = func(k call) error {
			if k.kind == "extend" && n > 0 {
				n--
				return errDown
			}
			return nil
		}
	})
}

// The lane gets the window that was granted without a reply.
func TestLostReplyToExtend(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.pass(5 * time.Minute)
		before := len(r.cluster.calls("extend"))
		r.loseReplies(3)
		for len(r.cluster.calls("extend")) < before+5 {
			r.pass(time.Second)
			r.next(0)
		}
		lost := r.cluster.calls("extend")[before:]
		for _, k := range lost[1:4] {
			if k.id != lost[0].id || k.until != lost[0].until {
				t.Fatalf("repetition %+v, want the ID and the end of %+v", k, lost[0])
			}
		}
		if lost[4].id == lost[0].id {
			t.Fatalf("next extension %+v, want another ID", lost[4])
		}
		if s := r.lane(); s.Token != 1 || s.Problem != "" || len(r.cluster.calls("acquire")) != 1 {
			t.Fatalf("%+v, want the first worker still", s)
		}
		r.next(0)
	})
}

// A window that was granted before an outage has ended after it: the lane requests another extension at once.
func TestLostReplyBeforeAnOutage(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.loseReplies(1)
		for len(r.cluster.calls("extend")) == 0 {
			r.pass(10 * time.Millisecond)
		}
		r.cluster.set(func() { r.cluster.before = func(call) error { return errDown } })
		r.pass(time.Minute)
		r.cluster.set(func() { r.cluster.before = nil })
		for n := len(r.cluster.calls("extend")); len(r.cluster.calls("extend")) == n; {
			r.pass(time.Millisecond)
		}
		k := r.cluster.calls("extend")
		if n := len(k); r.issuer.Ready() != nil || k[n-2].id == k[n-1].id || k[n-1].mono != k[n-2].mono {
			r.Fatalf("%+v after %+v, want a new extension at once that serves", r.lane(), k[n-2:])
		}
		r.next(0)
	})
}

// Each extension has its own ID.
func TestExtensionIDs(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(time.Hour)
		seen := map[uint64]bool{0: true}
		for _, k := range r.cluster.calls("extend") {
			if seen[k.id] {
				t.Fatalf("ID %d is 0 or was used before", k.id)
			}
			seen[k.id] = true
		}
	})
}

// takeAway grants the lane's worker to another holder, from the end of the window on.
func (r *rig) takeAway() {
	r.cluster.set(func() { r.cluster.workers[r.lane().Worker].token = 99 })
}

// Another holder has the worker. The lane notices at its next extension. IDs that it issues afterwards are
// above those that it issued ahead of the clock.
func TestMismatch(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.takeAway()
		var highest uint64
		for range 12 {
			ids := r.take(6*4096, 0)
			if ids[0] <= highest {
				r.Fatalf("%d after %d", ids[0], highest)
			}
			highest = ids[len(ids)-1]
			r.pass(130 * time.Millisecond)
		}
		if s := r.lane(); s.Worker != 1 || s.Problem != "" {
			r.Fatalf("%+v", s)
		}
	})
}

// lostWithoutAnother brings a lane into a state in which its worker is lost, minutes of its window are left,
// and the cluster grants no other worker.
func lostWithoutAnother(r *rig) (until time.Time) {
	r.pass(5 * time.Minute)
	until = r.lane().ServeUntil
	r.takeAway()
	r.cluster.set(func() {
		r.cluster.before = func(k call) error {
			if k.kind == "acquire" {
				return errDown
			}
			return nil
		}
	})
	for len(r.cluster.calls("acquire")) < 3 {
		r.next(0)
		r.pass(time.Second)
	}
	return until
}

func TestLostWorkerServesUntilNextGrant(t *testing.T) {
	run(t, func(r *rig) {
		r.cfg.WindowWait = func(context.Context, bool) time.Duration { return 0 } // no call waits for a window
	}, func(r *rig) {
		until := lostWithoutAnother(r)
		if left := until.Sub(time.UnixMilli(r.clock.read().Wall)); left < time.Minute {
			r.Fatalf("%v left, want minutes", left)
		}
		last := r.next(0)
		if s := r.lane(); s.Worker != 0 || s.Token != 1 || s.ServeUntil != until || s.Problem == "" || r.issuer.Ready() != nil {
			r.Fatalf("%+v, want worker 0 until %v, with a problem", s, until)
		}
		r.pass(30 * time.Second)
		ids := r.take(6*4096, last) // ahead of the clock
		r.cluster.set(func() { r.cluster.before = nil })
		for len(r.cluster.calls("acquire")) > 0 && r.lane().Worker == 0 {
			if id, err := r.issuer.Next(r.Context(), 0); err == nil {
				r.audit(id)
				ids = append(ids, id)
			}
			r.pass(7 * time.Millisecond)
		}
		if next := r.next(0); next <= ids[len(ids)-1] {
			r.Fatalf("%d of the next worker, want above %d", next, ids[len(ids)-1])
		}
		if s := r.lane(); s.Worker != 1 || s.Problem != "" {
			r.Fatalf("%+v, want worker 1", s)
		}
		r.pass(time.Minute)
		if k := r.cluster.calls("release"); len(k) != 0 {
			r.Fatalf("released %+v, want nothing: the worker is another holder's", k)
		}
	})
}

// A lost worker without a caller serves until the lane rests, although the lane requests no other worker
// meanwhile.
func TestLostWorkerIsKeptUnused(t *testing.T) {
	run(t, idle, func(r *rig) {
		until := lostWithoutAnother(r)
		r.pass(70 * time.Second)
		calls := len(r.cluster.calls())
		r.pass(until.Sub(time.UnixMilli(r.clock.read().Wall)) - time.Second)
		if n := len(r.cluster.calls()); n != calls {
			r.Fatalf("called %+v, want nothing: no caller used the lane", r.cluster.calls()[calls:])
		}
		r.next(0)
		r.pass(time.Minute)
		if len(r.cluster.calls()) == calls {
			r.Fatal("no call within a minute after a use")
		}
		r.pass(11 * time.Minute)
		if s := r.lane(); !s.Idle || len(r.cluster.calls("release")) != 0 {
			r.Fatalf("%+v, released %+v, want an idle lane and no release", s, r.cluster.calls("release"))
		}
	})
}

// The window of a lost worker ends like any other window.
func TestLostWorkerServesNoLongerThanItsWindow(t *testing.T) {
	run(t, nil, func(r *rig) {
		until := lostWithoutAnother(r)
		r.pass(until.Sub(time.UnixMilli(r.clock.read().Wall)) - 10*time.Millisecond)
		r.next(0)
		r.pass(time.Second)
		if err, _ := refused[*allocator.WindowEndedError](r); !err.Until.Equal(until) {
			r.Fatalf("%v, want an end at %v", err, until)
		}
	})
}

// A shutdown releases the worker that the lane holds, but not the lost worker.
func TestCloseWithLostWorker(t *testing.T) {
	for name, granted := range map[string]bool{"before another is granted": false, "while another is granted": true} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				lostWithoutAnother(r)
				r.next(0)
				if granted {
					r.cluster.delay.Store(int64(500 * time.Millisecond))
					r.cluster.set(func() { r.cluster.before = nil })
					for calls := len(r.cluster.calls("acquire")); len(r.cluster.calls("acquire")) == calls; {
						r.pass(10 * time.Millisecond)
					}
				}
				if err := r.issuer.Close(context.Background()); err != nil {
					r.Fatal(err)
				}
				k := r.cluster.calls("release")
				if granted && (len(k) != 1 || k[0].worker != 1) || !granted && len(k) != 0 {
					r.Fatalf("released %+v", k)
				}
				if _, err := r.issuer.Next(r.Context(), 0); !errors.Is(err, allocator.ErrClosed) {
					r.Fatal(err)
				}
			})
		})
	}
}

// The next worker begins after the last tick of the lost worker. Here its first ID in the same tick would be
// lower, because the sequence is above the worker.
func TestNextWorkerBeginsAfterTheLostOne(t *testing.T) {
	run(t, func(r *rig) {
		r.layout = shape("minutes", 60_000, "time:30,sequence:8,worker:8", someDay.Add(-time.Hour))
	}, func(r *rig) {
		lostWithoutAnother(r)
		r.pass(time.Duration(60_000-r.clock.read().Wall%60_000) * time.Millisecond) // everything after this is in one tick
		ids := r.take(20, 0)
		r.cluster.set(func() { r.cluster.before = nil })
		for r.lane().Worker == 0 {
			r.pass(time.Second)
			ids = append(ids, r.next(0))
		}
		if id := r.next(0); id <= ids[len(ids)-1] || !slices.IsSorted(ids) {
			r.Fatalf("%d of the next worker after %v, want IDs that increase", id, ids)
		}
	})
}
