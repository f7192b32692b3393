package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"
)

func TestClassify(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason string
		retry  time.Duration
	}{
		{&allocator.WindowEndedError{Until: now, Cause: errors.New("no quorum")}, codes.Unavailable, WindowEnded, RetrySoon},
		// The deadline of a lane's background call is not the caller's deadline.
		{&allocator.WindowEndedError{Cause: context.DeadlineExceeded}, codes.Unavailable, WindowEnded, RetrySoon},
		{&allocator.WorkersExhaustedError{Layout: "l", RetryAt: now.Add(3 * time.Second)}, codes.ResourceExhausted, WorkersExhausted, 3 * time.Second},
		{&allocator.WorkersExhaustedError{Layout: "l", RetryAt: now.Add(-time.Hour)}, codes.ResourceExhausted, WorkersExhausted, time.Millisecond},
		{&clock.BehindError{Behind: 3 * time.Second, Limit: time.Second}, codes.Unavailable, ClockBehind, 2 * time.Second},
		{&clock.SkewError{Ahead: time.Hour, Limit: time.Second}, codes.Unavailable, ClockSkew, RetrySoon},
		{allocator.ErrTimeExhausted, codes.FailedPrecondition, TimeExhausted, 0},
		{allocator.ErrInvalidArgument, codes.InvalidArgument, InvalidArgument, 0},
		{allocator.ErrClosed, codes.Unavailable, ShuttingDown, 0},
		{&allocator.InterruptedError{What: "waiting", Missing: &allocator.WindowEndedError{}, Err: context.Canceled}, codes.Canceled, "", 0},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if e := Classify(err, now); e == nil || e.Code != c.code || e.Reason != c.reason || e.RetryAfter != c.retry {
				t.Errorf("%v: %+v", err, e)
			}
		}
	}
	if e := Classify(errors.New("something else"), now); e != nil {
		t.Errorf("%+v", e)
	}
	if got := Message(allocator.ErrClosed); got != "this process is shutting down; try another member" {
		t.Error(got)
	}
}

func TestPlainOmitsPackages(t *testing.T) {
	t.Parallel()
	_, format := sequence.ParseFormat("{seq")
	_, layout := snowflake.New(snowflake.Spec{Name: "x"})
	for _, err := range []error{format, layout, fmt.Errorf("sequence \"a\": %w", format), fmt.Errorf("layout \"x\": %w", layout)} {
		if got := Plain(err.Error()); strings.Contains(got, "sequence: ") || strings.Contains(got, "snowflake: ") || !strings.Contains(got, "invalid ") {
			t.Errorf("Plain(%q) = %q, want no package", err, got)
		}
	}
}

func TestMessageOmitsItsReason(t *testing.T) {
	t.Parallel()
	if got, want := Message(fmt.Errorf("%w: count 0: expected at least 1 ID", allocator.ErrInvalidArgument)), "count 0: expected at least 1 ID"; got != want {
		t.Errorf("Message() = %q, want %q", got, want)
	}
}
