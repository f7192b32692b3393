package rpc

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// Classify returns the Error for an error that members and embedded generators share: an error of
// a lane, clock, layout or context. Only errors of contexts have no reason. It returns nil for other errors. It leaves
// the message empty; see [Message]. now is the present time.
func Classify(err error, now time.Time) *Error {
	var (
		behind    *clock.BehindError
		skew      *clock.SkewError
		ended     *allocator.WindowEndedError
		exhausted *allocator.WorkersExhaustedError
		fenced    *allocator.FencedError
	)
	switch {
	case errors.As(err, &ended):
		e := NewError(WindowEnded, "")
		if !ended.Until.IsZero() {
			e.Metadata = map[string]string{MetadataUntil: strconv.FormatInt(ended.Until.UnixMilli(), 10)}
		}
		return e
	case errors.As(err, &exhausted):
		e := NewError(WorkersExhausted, "")
		e.RetryAfter = max(exhausted.RetryAt.Sub(now), time.Millisecond)
		e.Metadata = map[string]string{
			MetadataLayout:  exhausted.Layout,
			MetadataRetryAt: strconv.FormatInt(exhausted.RetryAt.UnixMilli(), 10),
		}
		return e
	case errors.As(err, &fenced):
		e := NewError(Fenced, "")
		e.RetryAfter = max(fenced.RetryAt.Sub(now), time.Millisecond)
		e.Metadata = map[string]string{
			MetadataLayout:  fenced.Layout,
			MetadataRetryAt: strconv.FormatInt(fenced.RetryAt.UnixMilli(), 10),
		}
		return e
	case errors.As(err, &behind):
		e := NewError(ClockBehind, "")
		e.RetryAfter = max(behind.RetryAfter(), time.Millisecond)
		e.Metadata = map[string]string{MetadataBehind: millis(behind.Behind), MetadataLimit: millis(behind.Limit)}
		return e
	case errors.As(err, &skew):
		e := NewError(ClockSkew, "")
		e.Metadata = map[string]string{MetadataAhead: millis(skew.Ahead), MetadataLimit: millis(skew.Limit)}
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: codes.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &Error{Code: codes.Canceled}
	}
	for _, row := range []struct {
		is     error
		reason string
	}{
		{allocator.ErrClosed, ShuttingDown},
		{allocator.ErrTimeExhausted, TimeExhausted},
		{allocator.ErrOldClusterAlive, OldClusterAlive},
		{allocator.ErrContradicted, Contradicted},
		{allocator.ErrSetBack, SetBack},
		{allocator.ErrWindowMismatch, WindowMismatch},
		{allocator.ErrNotLastBlock, NotLastBlock},
		{allocator.ErrOutdatedBlock, SequenceChanged},
		{allocator.ErrInvalidArgument, InvalidArgument},
		{snowflake.ErrInvalidLayout, InvalidArgument},
		{snowflake.ErrExhausted, TimeExhausted},
		{snowflake.ErrOutOfRange, InvalidArgument},
	} {
		if errors.Is(err, row.is) {
			return NewError(row.reason, "")
		}
	}
	return nil
}

// Message returns the text of an error for users, without package names. It masks secrets in the text. It omits the words of
// [allocator.ErrInvalidArgument], because the reason of the error contains them.
func Message(err error) string {
	return trust.Mask(strings.TrimPrefix(Plain(err.Error()), allocator.ErrInvalidArgument.Error()+": "))
}

// nested matches the names of the public packages within the text of an error.
var nested = strings.NewReplacer(": sequence: ", ": ", ": snowflake: ", ": ")

// Plain returns the text of an error without the names of the public packages, whose errors begin with them.
func Plain(text string) string {
	return nested.Replace(strings.TrimPrefix(strings.TrimPrefix(text, "sequence: "), "snowflake: "))
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
