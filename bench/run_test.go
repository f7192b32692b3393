package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/snowflake"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	done := 0
	f, err := loopTurn(repeat(func() error { done++; return nil }))(t.Context(), 10*time.Millisecond)
	if err != nil || done == 0 || f[each] <= 0 || f[numbers] <= 0 {
		t.Errorf("%v, %v after %d", f, err, done)
	}
	if rate := f[each] * f[numbers]; rate < 0.999e9 || rate > 1.001e9 {
		t.Errorf("%v ns each and %v a second do not agree", f[each], f[numbers])
	}
	broken := errors.New("broken")
	if _, err := loopTurn(func(int) error { return broken })(t.Context(), time.Hour); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	var shared atomic.Int64
	began := time.Now()
	f, err = together(3, repeat(func() error { shared.Add(1); return nil }))(t.Context(), 10*time.Millisecond)
	took := time.Since(began)
	if rate := f[each] * f[numbers]; err != nil || shared.Load() == 0 || rate < 0.999e9 || rate > 1.001e9 {
		t.Errorf("%v, %v after %d", f, err, shared.Load())
	}
	if counted := f[numbers] / float64(shared.Load()); counted > 1/0.010 || counted < 1/took.Seconds() {
		t.Errorf("%v a second of %d in 10 ms to %v", f[numbers], shared.Load(), took)
	}
	if _, err := together(3, func(int) error { return broken })(t.Context(), time.Hour); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	failing := load.CallerFunc(func(context.Context, *load.Receipt) error { return &load.Refusal{Reason: "NOPE", Text: "refused"} })
	if _, err := loadTurn([]load.Caller{failing})(t.Context(), 100*time.Millisecond); err == nil {
		t.Error("a turn with calls that failed counts")
	}
}

// The lane that is compared with libraries issues different IDs, like a member.
func TestLaneIssues(t *testing.T) {
	t.Parallel()
	var started closers
	issuer, err := openLane(t.Context(), snowflake.Default(), &started)
	if err != nil {
		t.Fatal(err)
	}
	before := uint64(0)
	for range 10_000 {
		id, err := issuer.Next(t.Context(), 0)
		if err != nil || id <= before {
			t.Fatalf("%d after %d, %v", id, before, err)
		}
		before = id
	}
	started.close(&err)
	if err != nil {
		t.Error(err)
	}
}
