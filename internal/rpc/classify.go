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
		return untilRetry(NewError(WorkersExhausted, ""), exhausted.Layout, exhausted.RetryAt, now)
	case errors.As(err, &fenced):
		return untilRetry(NewError(Fenced, ""), fenced.Layout, fenced.RetryAt, now)
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
	for _, row := range reasonedErrors {
		if errors.Is(err, row.is) {
			return NewError(row.reason, "")
		}
	}
	return nil
}

// reasoned is an error with its reason.
type reasoned struct {
	is     error
	reason string
}

// causes holds the errors that are the causes of an Error that arrived with their reason.
var causes = []reasoned{
	{allocator.ErrTimeExhausted, TimeExhausted},
	{allocator.ErrOldClusterAlive, OldClusterAlive},
	{allocator.ErrContradicted, Contradicted},
	{allocator.ErrSetBack, SetBack},
	{allocator.ErrWindowMismatch, WindowMismatch},
	{allocator.ErrNotLastBlock, NotLastBlock},
}

// reasonedErrors holds the errors without further values.
var reasonedErrors = append([]reasoned{
	{allocator.ErrClosed, ShuttingDown},
	{allocator.ErrOutdatedBlock, SequenceChanged},
	{allocator.ErrInvalidArgument, InvalidArgument},
	{snowflake.ErrInvalidLayout, InvalidArgument},
	{snowflake.ErrExhausted, TimeExhausted},
	{snowflake.ErrOutOfRange, InvalidArgument},
}, causes...)

// untilRetry completes the Error of a layout whose workers are not granted before at.
func untilRetry(e *Error, layout string, at, now time.Time) *Error {
	e.RetryAfter = max(at.Sub(now), time.Millisecond)
	e.Metadata = map[string]string{MetadataLayout: layout, MetadataRetryAt: strconv.FormatInt(at.UnixMilli(), 10)}
	return e
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
