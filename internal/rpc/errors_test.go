package rpc

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// overTheWire returns an error as the other end of a connection receives it.
func overTheWire(e *Error) error { return status.FromProto(e.GRPCStatus().Proto()).Err() }

func TestErrorSurvivesTheWire(t *testing.T) {
	sent := &Error{
		Code: codes.Unavailable, Reason: WindowEnded, Message: "the window ended", RetryAfter: 1500 * time.Millisecond,
		Metadata: map[string]string{MetadataUntil: "17"},
	}
	got := FromError(overTheWire(sent))
	if got.Code != sent.Code || got.Reason != sent.Reason || got.Message != sent.Message || got.RetryAfter != sent.RetryAfter || got.Metadata[MetadataUntil] != "17" {
		t.Errorf("sent %+v, got %+v", sent, got)
	}
	if again := FromError(fmt.Errorf("wrapped: %w", got)); again != got {
		t.Errorf("wrapping lost it: %+v", again)
	}
	foreign := FromError(status.Error(codes.Unavailable, "connection refused"))
	if foreign.Reason != "" || foreign.Code != codes.Unavailable {
		t.Errorf("%+v", foreign)
	}
}

func TestLanesKnowTheirErrors(t *testing.T) {
	for _, c := range []struct {
		sent *Error
		ok   func(error) bool
	}{
		{&Error{Code: codes.Aborted, Reason: WindowMismatch}, func(err error) bool { return errors.Is(err, allocator.ErrWindowMismatch) }},
		{&Error{Code: codes.FailedPrecondition, Reason: TimeExhausted}, func(err error) bool { return errors.Is(err, allocator.ErrTimeExhausted) }},
		{&Error{Code: codes.ResourceExhausted, Reason: WorkersExhausted, Metadata: map[string]string{MetadataLayout: "l", MetadataRetryAt: "1234"}}, func(err error) bool {
			var e *allocator.WorkersExhaustedError
			return errors.As(err, &e) && e.Layout == "l" && e.RetryAt.UnixMilli() == 1234
		}},
		{&Error{Code: codes.Unavailable, Reason: ClockBehind, Metadata: map[string]string{MetadataBehind: "5000", MetadataLimit: "1000"}}, func(err error) bool {
			var e *clock.BehindError
			return errors.As(err, &e) && e.Behind == 5*time.Second && e.Limit == time.Second
		}},
		{&Error{Code: codes.Unavailable, Reason: ClockSkew, Metadata: map[string]string{MetadataAhead: "5000", MetadataLimit: "500"}}, func(err error) bool {
			var e *clock.SkewError
			return errors.As(err, &e) && e.Ahead == 5*time.Second && e.Limit == 500*time.Millisecond
		}},
		{&Error{Code: codes.Unavailable, Reason: NotLeader}, func(err error) bool { return FromError(err).Reason == NotLeader }},
	} {
		if err := named(overTheWire(c.sent)); !c.ok(err) {
			t.Errorf("%s became %T %v", c.sent.Reason, err, err)
		}
	}
	if named(nil) != nil {
		t.Error("nil became an error")
	}
	if err := named(context.DeadlineExceeded); err == nil {
		t.Error("a deadline was lost")
	}
}

// Names of codes are labels of metrics, and a foreign server may send any number.
func TestCodeNamesAreFew(t *testing.T) {
	for code, want := range map[codes.Code]string{
		codes.NotFound: "NOT_FOUND", codes.Canceled: "CANCELLED", codes.Unauthenticated: "UNAUTHENTICATED",
		17: "UNKNOWN", 4242: "UNKNOWN", 1<<32 - 1: "UNKNOWN",
	} {
		if got := CodeName(FromError(status.Error(code, "")).Code); got != want {
			t.Errorf("name of code %d = %q, want %q", uint32(code), got, want)
		}
	}
}
