package allocator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

func TestClose(t *testing.T) {
	run(t, nil, func(r *rig) {
		for start := range 20 {
			ids := r.take(10, 0)
			last, _ := r.layout.Unpack(ids[9])
			for range 2 {
				if err := r.issuer.Close(r.Context()); err != nil {
					r.Fatal(err)
				}
			}
			released := r.cluster.calls("release")
			if len(released) != start+1 || released[start].worker != 0 || released[start].next != last.Tick+1 {
				r.Fatalf("released %+v, last tick %d", released, last.Tick)
			}
			if _, err := r.issuer.Next(r.Context(), 0); !errors.Is(err, allocator.ErrClosed) {
				r.Fatal(err)
			}
			if _, err := r.issuer.Take(r.Context(), nil, 5, 0); !errors.Is(err, allocator.ErrClosed) {
				r.Fatal(err)
			}
			if err := r.issuer.Ready(); !errors.Is(err, allocator.ErrClosed) {
				r.Fatal(err)
			}
			if s := r.lane(); s.Token != 0 {
				r.Fatalf("%+v", s)
			}
			calls := len(r.cluster.calls())
			r.pass(time.Minute)
			if len(r.cluster.calls()) != calls {
				r.Fatalf("called after Close: %+v", r.cluster.calls()[calls:])
			}
			r.open() // begins right after it, on the same worker
		}
	})
}

func TestCloseWithNothingIssued(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(time.Second)
		from := r.lane().From
		if err := r.issuer.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		if k := r.cluster.calls("release"); len(k) != 1 || k[0].next != from {
			r.Fatalf("released %+v, window from %d", k, from)
		}
	})
}

// Waiting callers get the error at once.
func TestCloseWhileCallersWait(t *testing.T) {
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.before = func(call) error { return errDown }
	}, func(r *rig) {
		done := make(chan error)
		go func() {
			_, err := r.issuer.Next(context.Background(), 0)
			done <- err
		}()
		r.settle()
		if took := timed(func() {
			if err := r.issuer.Close(r.Context()); err != nil {
				r.Error(err)
			}
		}); took != 0 {
			r.Errorf("close took %v", took)
		}
		if err := <-done; !errors.Is(err, allocator.ErrClosed) {
			r.Error(err)
		}
	})
}

func TestCloseWithHangingCluster(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.cluster.hang.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if took := timed(func() {
			if err := r.issuer.Close(ctx); !errors.Is(err, context.Canceled) {
				r.Fatalf("close: %v", err)
			}
		}); !about(took, 2*time.Second) {
			r.Fatalf("close took %v", took)
		}
		if s := r.lane(); s.Token != 0 {
			r.Fatalf("%+v", s)
		}

		r.cluster.hang.Store(false)
		r.open()
		r.next(0)
		canceled, stop := context.WithCancel(context.Background())
		stop()
		calls := len(r.cluster.calls())
		if err := r.issuer.Close(canceled); err == nil || len(r.cluster.calls()) != calls {
			r.Fatalf("close with a context that has ended: %v, %d calls", err, len(r.cluster.calls())-calls)
		}
	})
}

// An extension is in progress while the issuer closes. Close waits for its reply, because the release must name
// the new end of the window.
func TestCloseDuringExtension(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.cluster.delay.Store(int64(500 * time.Millisecond))
		r.pass(1200 * time.Millisecond)
		if err := r.issuer.Close(context.Background()); err != nil {
			r.Fatal(err)
		}
		if k := r.cluster.calls("release"); len(k) != 1 || len(r.cluster.calls("extend")) != 1 {
			r.Fatalf("%+v", r.cluster.calls())
		}
	})
	// The same holds for the first window, from which no caller gets an ID.
	run(t, func(r *rig) {
		r.cluster = newCluster(r.layout)
		r.cluster.delay.Store(int64(500 * time.Millisecond))
	}, func(r *rig) {
		r.pass(100 * time.Millisecond)
		if err := r.issuer.Close(context.Background()); err != nil {
			r.Fatal(err)
		}
		if k := r.cluster.calls("release"); len(k) != 1 || k[0].next != r.cluster.windows[0].from {
			r.Fatalf("%+v", r.cluster.calls())
		}
	})
}

// A worker that the cluster no longer holds for this lane needs no release.
func TestCloseWithWorkerOfAnother(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.next(0)
		r.cluster.set(func() { r.cluster.workers[0].token++ })
		if err := r.issuer.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		if k := r.cluster.calls("release"); len(k) != 1 {
			r.Fatalf("released %+v", k)
		}
	})
}
