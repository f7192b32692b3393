package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// shipped is a coalescer's request on a stream. The test answers it.
type shipped struct {
	batch *batch[flight]
	done  func(flight, error, *former)
}

// shipping returns a coalescer whose requests go on a stream, and a channel of these requests. Calls are answered at once,
// with the numbers from calls on.
func shipping(calls uint64) (*airport, chan shipped) {
	a, requests := newAirport(func() (time.Duration, error) { return 0, nil }), make(chan shipped, 100)
	a.next.Store(calls)
	a.suspect = func(string) {}
	a.send = func(b *batch[flight], done func(flight, error, *former)) (string, bool) {
		requests <- shipped{b, done}
		return "m", true
	}
	return a, requests
}

// An answer that arrives after the request was repeated reaches no caller. The answer to the repetition reaches each caller
// once.
func TestNumbersComeOnceAfterRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, requests := shipping(1000)
		got := make(chan uint64, 100)
		come := func() {
			go func() {
				f, offset, err := a.do(t.Context(), 1, 0)
				if err != nil {
					t.Error(err)
				}
				got <- f.first + offset
			}()
			synctest.Wait()
		}
		come()
		come()
		sent := func() shipped {
			select {
			case s := <-requests:
				return s
			default:
				t.Error("no request was sent")
				return shipped{&batch[flight]{}, func(flight, error, *former) {}}
			}
		}
		first, second := sent(), sent()
		come() // waits, because two requests are in flight
		first.done(flight{}, nil, &former{})
		synctest.Wait() // a call has returned the numbers of the first request, and the third is sent
		third := sent()
		come()
		come()
		first.done(flight{first: 1, count: 1}, nil, nil) // too late
		second.done(flight{first: 2, count: 1}, nil, nil)
		second.done(flight{first: 2, count: 1}, nil, nil)
		synctest.Wait()
		last := sent()
		if n := last.batch.joined; n != 2 {
			t.Errorf("%d callers share the last request, want 2", n)
		}
		third.done(flight{first: 3, count: 1}, nil, nil)
		last.done(flight{first: 4, count: 2}, nil, nil)
		seen := map[uint64]bool{}
		for range 5 {
			seen[<-got] = true
		}
		for _, want := range []uint64{1000, 2, 3, 4, 5} {
			if !seen[want] {
				t.Errorf("no caller got %d: %v", want, seen)
			}
		}
		if a.calls.Load() != 1 {
			t.Errorf("%d calls, want 1", a.calls.Load())
		}
	})
}

// A request on a stream that fails when no caller waits is not repeated.
func TestRequestWithoutCallersIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, requests := shipping(0)
		ctx, cancel := context.WithCancel(t.Context())
		done := a.come(ctx, 1)
		cancel()
		if err := <-done; err == nil {
			t.Error("no error")
		}
		(<-requests).done(flight{}, nil, &former{})
		synctest.Wait()
		if a.calls.Load() != 0 || len(a.inFlight) != 0 {
			t.Errorf("%d calls, %d requests left", a.calls.Load(), len(a.inFlight))
		}
	})
}
