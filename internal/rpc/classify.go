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
)

// RetrySoon is when to try again what an election or a returning majority mends.
const RetrySoon = 500 * time.Millisecond

// Classify is the table of the errors that members and embedded generators have in common:
// those of lanes, clocks, layouts and contexts. It returns nil for others, and leaves the
// message empty; see [Message]. now is when it is asked.
func Classify(err error, now time.Time) *Error {
	var (
		behind    *clock.BehindError
		skew      *clock.SkewError
		ended     *allocator.WindowEndedError
		exhausted *allocator.WorkersExhaustedError
	)
	switch {
	case errors.As(err, &ended):
		e := &Error{Code: codes.Unavailable, Reason: WindowEnded, RetryAfter: RetrySoon}
		if !ended.Until.IsZero() {
			e.Metadata = map[string]string{MetadataUntil: strconv.FormatInt(ended.Until.UnixMilli(), 10)}
		}
		return e
	case errors.As(err, &exhausted):
		return &Error{Code: codes.ResourceExhausted, Reason: WorkersExhausted,
			RetryAfter: max(exhausted.RetryAt.Sub(now), time.Millisecond),
			Metadata: map[string]string{
				MetadataLayout:  exhausted.Layout,
				MetadataRetryAt: strconv.FormatInt(exhausted.RetryAt.UnixMilli(), 10),
			}}
	case errors.As(err, &behind):
		return &Error{Code: codes.Unavailable, Reason: ClockBehind, RetryAfter: max(behind.RetryAfter(), time.Millisecond),
			Metadata: map[string]string{MetadataBehind: millis(behind.Behind), MetadataLimit: millis(behind.Limit)}}
	case errors.As(err, &skew):
		return &Error{Code: codes.Unavailable, Reason: ClockSkew, RetryAfter: RetrySoon,
			Metadata: map[string]string{MetadataAhead: millis(skew.Ahead), MetadataLimit: millis(skew.Limit)}}
	}
	for _, row := range []struct {
		is     error
		code   codes.Code
		reason string
		retry  time.Duration
	}{
		{context.DeadlineExceeded, codes.DeadlineExceeded, "", 0},
		{context.Canceled, codes.Canceled, "", 0},
		{allocator.ErrClosed, codes.Unavailable, ShuttingDown, 0},
		{allocator.ErrTimeExhausted, codes.FailedPrecondition, TimeExhausted, 0},
		{allocator.ErrWindowMismatch, codes.Aborted, WindowMismatch, 0},
		{allocator.ErrNotLastBlock, codes.FailedPrecondition, NotLastBlock, 0},
		{allocator.ErrOutdatedBlock, codes.Aborted, SequenceChanged, time.Millisecond},
		{allocator.ErrInvalidArgument, codes.InvalidArgument, InvalidArgument, 0},
		{snowflake.ErrInvalidLayout, codes.InvalidArgument, InvalidArgument, 0},
		{snowflake.ErrExhausted, codes.FailedPrecondition, TimeExhausted, 0},
		{snowflake.ErrOutOfRange, codes.InvalidArgument, InvalidArgument, 0},
	} {
		if errors.Is(err, row.is) {
			return &Error{Code: row.code, Reason: row.reason, RetryAfter: row.retry}
		}
	}
	return nil
}

// Message is what an error says to users, whom the package that it comes from tells nothing.
func Message(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "allocator: "), "sequence: ")
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
