package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// office verifies until the test ends the verification.
type office struct {
	mu     sync.Mutex
	now    int // number of events
	began  []int
	finish chan error
}

func (o *office) tick() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	return o.now
}

func (o *office) verify(ctx context.Context) error {
	began := o.tick()
	o.mu.Lock()
	o.began = append(o.began, began)
	o.mu.Unlock()
	select {
	case err := <-o.finish:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outcome is the time at which a caller came and the result that it got.
type outcome struct {
	came int
	err  error
}

// early runs callers that come while verifications are in progress. It returns an
// error if one got the result of a verification that began before the caller came.
func early(alone int) error {
	o := &office{finish: make(chan error)}
	v := &verifier{verify: o.verify, alone: alone}
	outcomes := make(chan outcome, 100)
	come := func(callers int) {
		for range callers {
			came := o.tick()
			go func() { outcomes <- outcome{came, v.wait(context.Background())} }()
			synctest.Wait()
		}
	}
	come(1)
	for round := range 10 {
		come(round)
		o.finish <- fmt.Errorf("%d", round) // distinguishes the results
		synctest.Wait()
	}
	for len(outcomes) < 1+45 {
		o.finish <- errors.New("10")
		synctest.Wait()
	}
	synctest.Wait()
	if len(o.began) > 11 {
		return fmt.Errorf("%d verifications for 46 callers in 11 groups", len(o.began))
	}
	for range 1 + 45 {
		outcome := <-outcomes
		var round int
		if _, err := fmt.Sscan(outcome.err.Error(), &round); err != nil {
			return err
		}
		if began := o.began[round]; began < outcome.came {
			return fmt.Errorf("caller at %d got the result of a verification that began at %d", outcome.came, began)
		}
	}
	return nil
}

func TestVerificationBeginsAfterWhoWaitsForIt(t *testing.T) {
	for _, alone := range []int{0, enoughAlone} {
		synctest.Test(t, func(t *testing.T) {
			if err := early(alone); err != nil {
				t.Errorf("after %d callers one at a time: %v", alone, err)
			}
		})
	}
}

// Callers that come one at a time verify themselves, until one comes while another verifies.
func TestVerificationOfLoneCallersNeedsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		mine, elsewhere := context.WithValue(t.Context(), key{}, true), 0
		o := &office{finish: make(chan error)}
		hold := false
		v := &verifier{verify: func(ctx context.Context) error {
			if ctx.Value(key{}) == nil {
				elsewhere++
			}
			if hold {
				return o.verify(ctx)
			}
			return nil
		}}
		come := func() {
			if err := v.wait(mine); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		for range 3 * enoughAlone {
			come()
		}
		if elsewhere != enoughAlone {
			t.Errorf("%d verifications in other goroutines, want %d", elsewhere, enoughAlone)
		}
		hold = true
		ctx, cancel := context.WithCancel(mine)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- v.wait(ctx) }()
		synctest.Wait()
		go func() { second <- v.wait(mine) }()
		synctest.Wait()
		cancel() // cancels only the first caller's own verification
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller got %v", err)
		}
		o.finish <- nil
		if err := <-second; err != nil {
			t.Errorf("the second caller got %v", err)
		}
		synctest.Wait()
		hold, elsewhere = false, 0
		come()
		if elsewhere != 1 {
			t.Error("a caller verified itself right after two came together")
		}
	})
}

// A caller that gives up does not disturb other callers, and a verification that does not end is given up as well.
func TestCanceledCallerLeavesVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{finish: make(chan error)}
		v := &verifier{verify: o.verify}
		first, second := make(chan error, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { first <- v.wait(ctx) }()
		synctest.Wait()
		go func() { second <- v.wait(t.Context()) }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("wait() of the canceled caller = %v, want context.Canceled", err)
		}
		o.finish <- errors.New("of the first")
		o.finish <- nil
		if err := <-second; err != nil {
			t.Errorf("wait() of the other caller = %v, want nil", err)
		}
		synctest.Wait()
		began := time.Now()
		if err := v.wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != verifyTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		synctest.Wait()
		go func() { first <- v.wait(t.Context()) }()
		o.finish <- nil
		if err := <-first; err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
