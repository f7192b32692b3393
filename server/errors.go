package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"
)

// retrySoon is when to try again what an election or a returning majority mends.
const retrySoon = 500 * time.Millisecond

// toStatus is the one table from domain errors to what travels over gRPC.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err // of another member, or made here
	}
	e := classify(err)
	e.Message = err.Error()
	for _, pkg := range []string{"allocator: ", "sequence: "} {
		e.Message = strings.TrimPrefix(e.Message, pkg) // it tells users nothing
	}
	return e
}

func classify(err error) *rpc.Error {
	var (
		behind     *clock.BehindError
		skew       *clock.SkewError
		ended      *allocator.WindowEndedError
		exhausted  *allocator.WorkersExhaustedError
		unnumbered *member.UnknownSequenceError
		layout     *member.UnknownLayoutError
		refused    *fsm.Refused
		version    *member.VersionError
	)
	switch {
	case errors.As(err, &ended):
		e := &rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, RetryAfter: retrySoon}
		if !ended.Until.IsZero() {
			e.Metadata = map[string]string{rpc.MetadataUntil: strconv.FormatInt(ended.Until.UnixMilli(), 10)}
		}
		return e
	case errors.As(err, &exhausted):
		return &rpc.Error{Code: codes.ResourceExhausted, Reason: rpc.WorkersExhausted,
			RetryAfter: max(time.Until(exhausted.RetryAt), time.Millisecond),
			Metadata: map[string]string{
				rpc.MetadataLayout:  exhausted.Layout,
				rpc.MetadataRetryAt: strconv.FormatInt(exhausted.RetryAt.UnixMilli(), 10),
			}}
	case errors.As(err, &behind):
		return &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, RetryAfter: max(behind.RetryAfter(), time.Millisecond),
			Metadata: map[string]string{rpc.MetadataBehind: millis(behind.Behind), rpc.MetadataLimit: millis(behind.Limit)}}
	case errors.As(err, &skew):
		return &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockSkew, RetryAfter: retrySoon,
			Metadata: map[string]string{rpc.MetadataAhead: millis(skew.Ahead), rpc.MetadataLimit: millis(skew.Limit)}}
	case errors.As(err, &layout):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Metadata: map[string]string{rpc.MetadataLayout: layout.Layout}}
	case errors.As(err, &unnumbered):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Metadata: map[string]string{rpc.MetadataSequence: unnumbered.Sequence}}
	case errors.As(err, &version):
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow}
	case errors.As(err, &refused):
		return refusal(refused)
	}
	for _, row := range []struct {
		is     error
		code   codes.Code
		reason string
		retry  time.Duration
	}{
		{cluster.ErrUnknownOutcome, codes.Unknown, rpc.CommitUnknown, 0}, // before what it was interrupted by
		{context.DeadlineExceeded, codes.DeadlineExceeded, "", 0},
		{context.Canceled, codes.Canceled, "", 0},
		{allocator.ErrClosed, codes.Unavailable, rpc.ShuttingDown, 0},
		{cluster.ErrClosed, codes.Unavailable, rpc.ShuttingDown, 0},
		{allocator.ErrTimeExhausted, codes.FailedPrecondition, rpc.TimeExhausted, 0},
		{allocator.ErrWindowMismatch, codes.Aborted, rpc.WindowMismatch, 0},
		{allocator.ErrNotLastBlock, codes.FailedPrecondition, rpc.NotLastBlock, 0},
		{allocator.ErrOutdatedBlock, codes.Aborted, rpc.SequenceChanged, time.Millisecond},
		{member.ErrStrict, codes.FailedPrecondition, rpc.StrictSequence, 0},
		{sequence.ErrInvalidFormat, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{sequence.ErrUnknownZone, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{allocator.ErrInvalidArgument, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{snowflake.ErrInvalidLayout, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{snowflake.ErrExhausted, codes.FailedPrecondition, rpc.TimeExhausted, 0},
		{snowflake.ErrOutOfRange, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{cluster.ErrNotLeader, codes.Unavailable, rpc.NotLeader, retrySoon},
		{member.ErrNoLeader, codes.Unavailable, rpc.NoLeader, retrySoon},
		{cluster.ErrUnknownMember, codes.NotFound, rpc.UnknownMember, 0},
		{cluster.ErrQuorum, codes.FailedPrecondition, rpc.QuorumAtRisk, 0},
		{cluster.ErrAmbiguousMember, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{cluster.ErrOtherCluster, codes.FailedPrecondition, rpc.OtherCluster, 0},
		{cluster.ErrUnreachable, codes.Unavailable, rpc.Unreachable, 0},
		{cluster.ErrNoSuccessor, codes.FailedPrecondition, rpc.NoSuccessor, 0},
	} {
		if errors.Is(err, row.is) {
			return &rpc.Error{Code: row.code, Reason: row.reason, RetryAfter: row.retry}
		}
	}
	return &rpc.Error{Code: codes.Internal}
}

// refusal classifies what the state machine refused and no lane knows better.
func refusal(r *fsm.Refused) *rpc.Error {
	switch r.Reason {
	case commandv1.Refusal_REFUSAL_UNKNOWN_LAYOUT:
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout}
	case commandv1.Refusal_REFUSAL_LAYOUT_EXISTS:
		return &rpc.Error{Code: codes.AlreadyExists, Reason: rpc.LayoutExists}
	case commandv1.Refusal_REFUSAL_TIME_EXHAUSTED:
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.TimeExhausted}
	case commandv1.Refusal_REFUSAL_VERSION_TOO_LOW:
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow}
	case commandv1.Refusal_REFUSAL_LIMIT_REACHED:
		e := &rpc.Error{Code: codes.ResourceExhausted, Reason: rpc.LimitReached}
		if r.RetryAtMillis != 0 {
			e.RetryAfter = max(time.Until(time.UnixMilli(r.RetryAtMillis)), time.Millisecond)
		}
		return e
	case commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE:
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence}
	case commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS:
		return &rpc.Error{Code: codes.AlreadyExists, Reason: rpc.SequenceExists}
	case commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED:
		return &rpc.Error{Code: codes.OutOfRange, Reason: rpc.SequenceExhausted}
	case commandv1.Refusal_REFUSAL_GENERATION_MISMATCH:
		return &rpc.Error{Code: codes.Aborted, Reason: rpc.SequenceChanged, RetryAfter: time.Millisecond}
	case commandv1.Refusal_REFUSAL_WOULD_REPEAT:
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.WouldRepeat}
	case commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK:
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.NotLastBlock}
	default:
		return &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument}
	}
}

// invalid is a request that can never succeed.
func invalid(message string) error {
	return &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: message}
}

// tooMany refuses a call because limit calls of its kind wait here already.
func tooMany(limit int, kind string) error {
	return &rpc.Error{Code: codes.ResourceExhausted, Reason: rpc.LimitReached, RetryAfter: time.Second,
		Message: fmt.Sprintf("%d calls of %s are waiting at this member: try again later, or ask another", limit, kind)}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
