package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/limits"
)

// come starts a caller.
func (a *airport) come(ctx context.Context, count uint64) <-chan error {
	done := make(chan error, 1)
	go func() {
		f, offset, err := a.do(ctx, count, 0)
		if err == nil && offset+count > f.count {
			err = fmt.Errorf("%d from %d on, of %d", count, offset, f.count)
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

// A caller without other callers is served at once. Callers that come during its call share the next call.
func TestCallersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return overdue / 2, nil })
		began := time.Now()
		all := []<-chan error{a.come(t.Context(), 1)}
		if a.calls.Load() != 1 {
			t.Error("the first had to wait")
		}
		for range 1000 {
			all = append(all, a.come(t.Context(), 1))
		}
		for _, done := range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if calls, took := a.calls.Load(), time.Since(began); calls != 3 || took != overdue {
			t.Errorf("%d calls in %v, want 3 in %v", calls, took, overdue)
		}
	})
}

// Calls that hang, one or many, delay no caller for longer than overdue. At most maxFlights calls are in progress.
func TestSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return time.Second, nil })
		var all []<-chan error
		for range 3 * maxInFlight {
			all = append(all, a.come(t.Context(), 1))
			time.Sleep(overdue)
		}
		for _, done := range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most, calls := a.most.Load(), a.calls.Load(); most != maxInFlight || calls != maxInFlight+1 {
			t.Errorf("%d calls, up to %d at a time, want %d and %d", calls, most, maxInFlight+1, maxInFlight)
		}
	})
}

// A caller with a large request has a call of its own, which delays no other caller.
func TestLargeRequestsAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		a := newAirport(func() (time.Duration, error) {
			if first {
				first = false
				return time.Second, nil
			}
			return 0, nil
		})
		large := a.come(t.Context(), maxShared+1)
		began := time.Now()
		if err := <-a.come(t.Context(), 1); err != nil || time.Since(began) != 0 {
			t.Errorf("waited %v, %v", time.Since(began), err)
		}
		if err := <-large; err != nil {
			t.Error(err)
		}
	})
}

// A caller that leaves loses only its own part. A call ends when no caller waits for it.
func TestCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return time.Second, nil })
		ctx, cancel := context.WithCancel(t.Context())
		alone, other := a.come(ctx, 1), a.come(t.Context(), 1)
		leaves, stays := a.come(ctx, 3), a.come(t.Context(), 2)
		time.Sleep(2 * overdue) // both callers are in one call
		if a.calls.Load() != 3 {
			t.Fatalf("%d calls", a.calls.Load())
		}
		cancel()
		synctest.Wait()
		for _, done := range []<-chan error{alone, leaves} {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if a.cancelled.Load() != 1 {
			t.Errorf("%d calls were canceled, want 1: the call without callers", a.cancelled.Load())
		}
		for _, done := range []<-chan error{other, stays} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		// A batch without callers never begins.
		running, too := a.come(t.Context(), 1), a.come(t.Context(), 1)
		ctx, cancel = context.WithCancel(t.Context())
		waiting := a.come(ctx, 1)
		cancel()
		<-waiting
		<-running
		<-too
		if a.calls.Load() != 5 {
			t.Errorf("%d calls, want none for a caller that left before", a.calls.Load())
		}
	})
}

// A caller notices that its context is canceled: the first caller of a batch at once, the others soon, even while the batch waits
// for the window.
func TestCallersNoticeCancellation(t *testing.T) {
	for _, flights := range []int{0, 1, window, maxInFlight} {
		synctest.Test(t, func(t *testing.T) {
			a := newAirport(func() (time.Duration, error) { return time.Second, nil })
			for range flights {
				a.come(t.Context(), 1)
				time.Sleep(2 * overdue)
			}
			hold := a.come(t.Context(), 1)
			if flights == maxInFlight {
				hold = nil // wait as long as the others
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			all := []<-chan error{a.come(ctx, 1), a.come(ctx, 1), a.come(ctx, 1)}
			time.Sleep(time.Microsecond)
			began := time.Now()
			cancel()
			for i, done := range all {
				err := <-done
				if took := time.Since(began); !errors.Is(err, context.Canceled) || i == 0 && took != 0 || took > 2*overdue {
					t.Errorf("%d flights: caller %d: %v after %v", flights, i, err, took)
				}
			}
			if hold != nil {
				<-hold
			}
		})
	}
}

// The deadline of a call is the latest deadline of its callers.
func TestDeadlinesOfCoalescedCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return time.Hour, nil })
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		first := a.come(short, 1)
		second, third := a.come(short, 1), a.come(t.Context(), 1)
		for _, c := range []struct {
			done  <-chan error
			after time.Duration
		}{{first, time.Second}, {second, time.Second}, {third, a.timeout}} {
			if err := <-c.done; !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != c.after {
				t.Errorf("%v after %v, want %v", err, time.Since(began), c.after)
			}
		}
	})
}

// A caller without a deadline waits for the client's timeout, however long the callers wait that share its request, and however
// patient the client is with an answer on a stream.
func TestCallersWithoutDeadlineTimeOut(t *testing.T) {
	for what, coalesced := range map[string]func() *airport{
		"a call": func() *airport { return newAirport(func() (time.Duration, error) { return time.Hour, nil }) },
		"a stream": func() *airport {
			a, _ := shipping(0)
			return a
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := coalesced()
			long, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			for range window { // the next callers share a request
				defer func(done <-chan error) { <-done }(a.come(long, 1))
			}
			patient, other := a.come(long, 1), a.come(t.Context(), 1)
			alone := a.come(t.Context(), maxShared)
			for _, done := range []<-chan error{other, alone} {
				err := <-done
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < a.timeout || took > a.timeout+2*slowAtLatest {
					t.Errorf("%s: %v after %v, want a timeout after %v", what, err, took, a.timeout)
				}
			}
			if err := <-patient; !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
				t.Errorf("%s: %v after %v", what, err, time.Since(began))
			}
		})
	}
}

// A caller without a deadline that joins an old batch waits for the client's timeout from its own arrival on.
func TestCallersWithoutDeadlineJoinOldBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return time.Hour, nil })
		long, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range maxInFlight {
			defer func(done <-chan error) { <-done }(a.come(long, 1))
			time.Sleep(overdue)
		}
		defer func(done <-chan error) { <-done }(a.come(long, 1)) // opens a batch that cannot begin
		time.Sleep(a.timeout + time.Second)
		began := time.Now()
		err := <-a.come(t.Context(), 1)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < a.timeout || took > a.timeout+2*slowAtLatest {
			t.Errorf("%v after %v, want a timeout after %v", err, took, a.timeout)
		}
	})
}

// Callers notice that their contexts are canceled also while more requests than the greatest number are in flight.
func TestCallersBehindFullBatchNoticeCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return time.Second, nil })
		for range maxInFlight {
			a.come(t.Context(), 1)
			time.Sleep(overdue)
		}
		for range limits.Count/maxShared + 1 { // the last caller does not fit and opens a batch of its own
			go a.do(t.Context(), maxShared, 0)
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		last := a.come(ctx, 1)
		began := time.Now()
		cancel()
		if err := <-last; !errors.Is(err, context.Canceled) || time.Since(began) > 2*overdue {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

type valueKey struct{}

// The call has the values of the first caller, for its trace, but sends no caller's metadata.
func TestValuesOfCoalescedCallers(t *testing.T) {
	var seen any
	var sent bool
	c := coalescer[int]{timeout: time.Second, answerTimeout: never, hedge: never, hooks: &Hooks{}, fetch: func(ctx context.Context, _ uint64, _ int64) (int, error) {
		seen = ctx.Value(valueKey{})
		md, _ := metadata.FromOutgoingContext(ctx)
		sent = len(md) > 0
		return 0, nil
	}}
	ctx := metadata.AppendToOutgoingContext(context.WithValue(t.Context(), valueKey{}, 1), "authorization", "mine")
	for _, count := range []uint64{1, maxShared + 1} {
		if _, _, err := c.do(ctx, count, 0); err != nil || seen != 1 || sent {
			t.Errorf("%v, %v, %v", seen, sent, err)
		}
	}
}

// A single caller that makes one request after another waits only for the answers.
func TestIdleAddsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAirport(func() (time.Duration, error) { return overdue / 10, nil })
		began := time.Now()
		for range 10 {
			if _, _, err := a.do(t.Context(), 1, 0); err != nil {
				t.Error(err)
			}
			synctest.Wait() // the next one comes after the flight has done
		}
		if took := time.Since(began); took != overdue {
			t.Errorf("10 calls took %v, want %v", took, overdue)
		}
	})
}
