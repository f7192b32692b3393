package wire

import (
	"errors"
	"fmt"
	"strconv"
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

// rows are the errors of the domain that need nothing but a code and a reason. Each goes out with
// its reason. What comes in with a reason is the first error that has it; none is for
// [rpc.InvalidArgument], which many have.
var rows = []struct {
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
	{cluster.ErrUnknownOutcome, codes.Unknown, rpc.CommitUnknown, 0},
	{refused(commandv1.Refusal_REFUSAL_UNKNOWN_LAYOUT), codes.NotFound, rpc.UnknownLayout, 0},
	{refused(commandv1.Refusal_REFUSAL_LAYOUT_EXISTS), codes.AlreadyExists, rpc.LayoutExists, 0},
	{refused(commandv1.Refusal_REFUSAL_TIME_EXHAUSTED), codes.FailedPrecondition, rpc.TimeExhausted, 0},
	{refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW), codes.FailedPrecondition, rpc.VersionTooLow, 0},
	{refused(commandv1.Refusal_REFUSAL_LIMIT_REACHED), codes.ResourceExhausted, rpc.LimitReached, 0},
	{refused(commandv1.Refusal_REFUSAL_UNKNOWN_SEQUENCE), codes.NotFound, rpc.UnknownSequence, 0},
	{refused(commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS), codes.AlreadyExists, rpc.SequenceExists, 0},
	{refused(commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED), codes.OutOfRange, rpc.SequenceExhausted, 0},
	{refused(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH), codes.Aborted, rpc.SequenceChanged, time.Millisecond},
	{refused(commandv1.Refusal_REFUSAL_WOULD_REPEAT), codes.FailedPrecondition, rpc.WouldRepeat, 0},
	{refused(commandv1.Refusal_REFUSAL_NOT_LAST_BLOCK), codes.FailedPrecondition, rpc.NotLastBlock, 0},
}

func refused(reason commandv1.Refusal) error { return &fsm.Refused{Reason: reason} }

// Status returns an error of the domain as it travels; see also [rpc.Classify], the part of the
// table that embedded generators have too.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err // of another member, or made for the wire
	}
	e := classify(err)
	e.Message = rpc.Message(err)
	return e
}

func classify(err error) *rpc.Error {
	var (
		unnumbered *member.UnknownSequenceError
		layout     *member.UnknownLayoutError
		version    *member.VersionError
		generation *member.GenerationError
		refused    *fsm.Refused
	)
	switch {
	case errors.Is(err, cluster.ErrUnknownOutcome): // before what it was interrupted by
		return &rpc.Error{Code: codes.Unknown, Reason: rpc.CommitUnknown}
	case errors.As(err, &layout):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Metadata: map[string]string{rpc.MetadataLayout: layout.Layout}}
	case errors.As(err, &unnumbered):
		return &rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownSequence, Metadata: map[string]string{rpc.MetadataSequence: unnumbered.Sequence}}
	case errors.As(err, &generation):
		return &rpc.Error{Code: codes.Aborted, Reason: rpc.GenerationMismatch,
			Metadata: map[string]string{rpc.MetadataGeneration: strconv.FormatUint(generation.Present, 10)}}
	case errors.As(err, &version):
		return &rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.VersionTooLow}
	}
	if e := rpc.Classify(err, time.Now()); e != nil {
		return e
	}
	e := &rpc.Error{Code: codes.Internal}
	if errors.As(err, &refused) { // usually for its form
		e = &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument}
	}
	for _, row := range rows {
		if errors.Is(err, row.is) {
			e = &rpc.Error{Code: row.code, Reason: row.reason, RetryAfter: row.retry}
			break
		}
	}
	if refused != nil && refused.RetryAtMillis != 0 {
		e.RetryAfter = max(time.Until(time.UnixMilli(refused.RetryAtMillis)), time.Millisecond)
	}
	return e
}

// FromMember gives an error of another member its cause, the error of the domain that it stands
// for there.
func FromMember(err error) *rpc.Error {
	e := rpc.FromError(err)
	if e.Cause == nil {
		e.Cause = cause(e)
	}
	return e
}

func cause(e *rpc.Error) error {
	switch e.Reason {
	case "", rpc.InvalidArgument:
		return nil
	case rpc.UnknownLayout:
		return &member.UnknownLayoutError{Layout: e.Metadata[rpc.MetadataLayout]}
	case rpc.UnknownSequence:
		return &member.UnknownSequenceError{Sequence: e.Metadata[rpc.MetadataSequence]}
	}
	for _, row := range rows {
		if e.Reason == row.reason {
			return row.is
		}
	}
	return nil
}

// Invalid is the error of a request that can never succeed.
func Invalid(message string) error {
	return &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: message}
}

// TooMany refuses a call because limit calls of its kind wait here already.
func TooMany(limit int, kind string) error {
	return &rpc.Error{Code: codes.ResourceExhausted, Reason: rpc.LimitReached, RetryAfter: time.Second,
		Message: fmt.Sprintf("%d calls of %s are waiting at this member: try again later, or ask another", limit, kind)}
}

// ShuttingDown refuses a call at a process that closes its ports.
func ShuttingDown() error {
	return &rpc.Error{Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "this member is shutting down: ask another"}
}
