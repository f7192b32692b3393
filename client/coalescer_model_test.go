package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// flight is an answer of the fake: count numbers from first on, above a floor. Its call began as the nth event.
type flight struct {
	first, count uint64
	after        int64
	began        int64
	at           time.Time
}

// airport is a coalescer over a fake with configurable delays, which counts events.
type airport struct {
	coalescer[flight]
	events    atomic.Int64
	next      atomic.Uint64
	under     atomic.Int64 // calls in progress
	most      atomic.Int64
	calls     atomic.Int64
	cancelled atomic.Int64
}

func newAirport(takes func() (time.Duration, error)) *airport {
	a := &airport{}
	a.coalescer = coalescer[flight]{timeout: 10 * time.Second, answerTimeout: never, hedge: never, hooks: &Hooks{}, fetch: func(ctx context.Context, count uint64, after int64) (flight, error) {
		f := flight{first: a.next.Add(count) - count, count: count, after: after, began: a.events.Add(1), at: time.Now()}
		a.calls.Add(1)
		raise64(&a.most, a.under.Add(1))
		defer a.under.Add(-1)
		d, err := takes()
		if d > 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				a.cancelled.Add(1)
				return flight{}, ctx.Err()
			}
		}
		return f, err
	}}
	return a
}

func raise64(what *atomic.Int64, to int64) {
	for was := what.Load(); to > was && !what.CompareAndSwap(was, to); {
		was = what.Load()
	}
}

// Callers come, leave and fail in any order. No caller gets a part of another caller, a part of a call that began
// before the caller came, or one above a lower floor than its own. No caller waits for longer than overdue until its call begins. A caller's error is the error
// of its own call or context.
func TestCoalescedCallers(t *testing.T) {
	refused := errors.New("refused")
	for seed := range uint64(depth.Of(depth.Little(20, 60), 200)) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			draw := func(n int64) int64 { mu.Lock(); defer mu.Unlock(); return random.Int64N(n) }
			slowest := time.Duration(1 + draw(int64(5*time.Millisecond)))
			a := newAirport(func() (time.Duration, error) {
				if draw(10) == 0 {
					return time.Duration(draw(int64(slowest))), refused
				}
				return time.Duration(draw(int64(slowest))), nil
			})
			var got sync.Map
			var callers sync.WaitGroup
			for range 1 + draw(300) {
				pause, count := time.Duration(draw(int64(20*time.Millisecond))), uint64(1+draw(4))
				if draw(20) == 0 {
					count = uint64(1 + draw(2*maxShared))
				}
				patience := time.Minute
				if draw(5) == 0 {
					patience = time.Duration(draw(int64(5 * time.Millisecond)))
				}
				floor := draw(2) * draw(1_000_000)
				callers.Go(func() {
					time.Sleep(pause)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					came, began := a.events.Add(1), time.Now()
					f, offset, err := a.do(ctx, count, floor)
					switch {
					case errors.Is(err, refused):
					case err != nil:
						if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != patience {
							t.Errorf("seed %d: %v after %v of %v", seed, err, time.Since(began), patience)
						}
					case f.began < came:
						t.Errorf("seed %d: served by a call that began before", seed)
					case f.after < floor:
						t.Errorf("seed %d: answer above %d, want one above %d", seed, f.after, floor)
					case f.at.Sub(began) > overdue:
						t.Errorf("seed %d: waited %v for the call to begin", seed, f.at.Sub(began))
					case offset+count > f.count:
						t.Errorf("seed %d: %d from %d on, of %d", seed, count, offset, f.count)
					default:
						for i := range count {
							if _, twice := got.LoadOrStore(f.first+offset+i, true); twice {
								t.Errorf("seed %d: %d twice", seed, f.first+offset+i)
							}
						}
					}
				})
			}
			callers.Wait()
			synctest.Wait()
			if a.open != nil || len(a.inFlight) != 0 || a.under.Load() != 0 {
				t.Errorf("seed %d: %d flights are left, %v", seed, len(a.inFlight), a.open)
			}
		})
	}
}
