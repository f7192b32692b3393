package frontend

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
)

func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPatience(t.Context(), time.Now())
		defer p.end()
		if until, ok := p.Deadline(); !ok || time.Until(until) != limits.CallTimeout {
			t.Errorf("the deadline is in %v", time.Until(until))
		}
		if p.timed != nil || p.Err() != nil {
			t.Error("a timer runs without a waiting caller")
		}
		derived, cancel := context.WithCancel(p)
		defer cancel()
		<-derived.Done()
		if took := limits.CallTimeout - time.Until(p.until); took != limits.CallTimeout {
			t.Errorf("patience ended after %v", took)
		}
		if !errors.Is(p.Err(), context.DeadlineExceeded) || !errors.Is(derived.Err(), context.DeadlineExceeded) {
			t.Errorf("patience ended with %v, %v", p.Err(), derived.Err())
		}
	})
}

// patience ends with its call, both before the first wait and during a wait.
func TestPatienceEndsWithItsCall(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			call, cancel := context.WithCancel(t.Context())
			p := newPatience(call, time.Now())
			defer p.end()
			if waits {
				go cancel()
				<-p.Done()
			} else {
				cancel()
			}
			if !errors.Is(p.Err(), context.Canceled) {
				t.Errorf("waits: %v: patience ended with %v", waits, p.Err())
			}
		})
	}
}

func TestBoundedKeepsDeadlines(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, end := bounded(ctx); got != ctx {
		t.Error("a context with a deadline was replaced")
	} else {
		end()
	}
	got, end := bounded(t.Context())
	defer end()
	if _, ok := got.Deadline(); !ok {
		t.Error("there is no deadline")
	}
}
