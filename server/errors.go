package server

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// toStatus is the one table from domain errors to what travels over gRPC; [rpc.Classify] is the
// part of it that embedded generators have too.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err // of another member, or made here
	}
	e := classify(err)
	e.Message = rpc.Message(err)
	return e
}

func classify(err error) *rpc.Error {
	var (
		unnumbered *member.UnknownSequenceError
		layout     *member.UnknownLayoutError
		refused    *fsm.Refused
		version    *member.VersionError
	)
	switch {
	case errors.Is(err, cluster.ErrUnknownOutcome): // before what it was interrupted by
		return &rpc.Error{Code: codes.Unknown, Reason: rpc.CommitUnknown}
	case errors.As(err, &layout):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Metadata: map[string]string{rpc.MetadataLayout: layout.Layout}}
	case errors.As(err, &unnumbered):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Metadata: map[string]string{rpc.MetadataSequence: unnumbered.Sequence}}
	case errors.As(err, &version):
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow}
	case errors.As(err, &refused):
		return refusal(refused)
	}
	if e := rpc.Classify(err, time.Now()); e != nil {
		return e
	}
	for _, row := range []struct {
		is     error
		code   codes.Code
		reason string
		retry  time.Duration
	}{
		{cluster.ErrClosed, codes.Unavailable, rpc.ShuttingDown, 0},
		{member.ErrStrict, codes.FailedPrecondition, rpc.StrictSequence, 0},
		{sequence.ErrInvalidFormat, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{sequence.ErrUnknownZone, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{cluster.ErrNotLeader, codes.Unavailable, rpc.NotLeader, rpc.RetrySoon},
		{member.ErrNoLeader, codes.Unavailable, rpc.NoLeader, rpc.RetrySoon},
		{cluster.ErrUnknownMember, codes.NotFound, rpc.UnknownMember, 0},
		{cluster.ErrQuorum, codes.FailedPrecondition, rpc.QuorumAtRisk, 0},
		{cluster.ErrAmbiguousMember, codes.InvalidArgument, rpc.InvalidArgument, 0},
		{cluster.ErrNamesUnknown, codes.Unavailable, rpc.Unreachable, rpc.RetrySoon},
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
