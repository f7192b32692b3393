package wire

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// overTheWire returns the error that another member receives for an error over gRPC.
func overTheWire(err error) *rpc.Error {
	return FromMember(status.FromProto(status.Convert(Status(err)).Proto()).Err())
}

func TestErrorsSurviveTheWire(t *testing.T) {
	t.Parallel()
	// Reasons that arrive as a more specific error, or without a cause.
	shared := []string{
		rpc.InvalidArgument, rpc.UnknownLayout, rpc.UnknownSequence, rpc.TimeExhausted, rpc.NotLastBlock,
		rpc.WorkersExhausted, rpc.ClockBehind, rpc.WindowMismatch, rpc.Fenced, rpc.SetBack,
	}
	for _, row := range rows {
		got := overTheWire(fmt.Errorf("while testing: %w", row.is))
		if r, ok := rpc.ReasonOf(row.reason); !ok || got.Reason != row.reason || got.Code != r.Code || got.Message != rpc.Plain("while testing: "+row.is.Error()) {
			t.Errorf("%v arrives as %+v", row.is, got)
		}
		if !slices.Contains(shared, row.reason) && !errors.Is(got, row.is) {
			t.Errorf("%v arrives as another error: %v", row.is, got.Cause)
		}
	}
}

func TestEveryRefusalHasReason(t *testing.T) {
	t.Parallel()
	for reason := range commandv1.Refusal_name {
		refusal := commandv1.Refusal(reason)
		if refusal == commandv1.Refusal_REFUSAL_UNSPECIFIED {
			continue
		}
		if got := overTheWire(&fsm.Refused{Reason: refusal, Detail: "no"}); got.Reason == rpc.Internal {
			t.Errorf("%v has no reason", refusal)
		}
	}
}

func TestErrorOutsideTheTableIsInternal(t *testing.T) {
	t.Parallel()
	if got := overTheWire(errors.New("a bug")); got.Reason != rpc.Internal || got.Code != codes.Internal || got.Message != "a bug" {
		t.Errorf("Status() = %+v", got)
	}
}

func TestCausesOfOtherMembersErrors(t *testing.T) {
	t.Parallel()
	if e, ok := errors.AsType[*member.UnknownSequenceError](overTheWire(&member.UnknownSequenceError{Sequence: "s"})); !ok || e.Sequence != "s" {
		t.Errorf("an unknown sequence arrives as %v", e)
	}
	if e, ok := errors.AsType[*member.UnknownLayoutError](overTheWire(&member.UnknownLayoutError{Layout: "l"})); !ok || e.Layout != "l" {
		t.Errorf("an unknown layout arrives as %v", e)
	}
	for _, reason := range []commandv1.Refusal{commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED, commandv1.Refusal_REFUSAL_SEQUENCE_EXISTS, commandv1.Refusal_REFUSAL_LIMIT_REACHED, commandv1.Refusal_REFUSAL_OVERLOADED} {
		if e, ok := errors.AsType[*fsm.Refused](overTheWire(&fsm.Refused{Reason: reason})); !ok || e.Reason != reason {
			t.Errorf("%v arrives as %v", reason, e)
		}
	}
	both := overTheWire(fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, cluster.ErrNotLeader))
	if !errors.Is(both, cluster.ErrUnknownOutcome) || errors.Is(both, cluster.ErrNotLeader) {
		t.Errorf("an unknown outcome arrives as %v", both.Cause)
	}
	if got := overTheWire(errors.New("a bug")); got.Cause != nil {
		t.Errorf("an internal error arrives as %v", got.Cause)
	}
	again := overTheWire(member.ErrNoLeader)
	if !errors.Is(Status(again), again) {
		t.Error("Status() changes an error of another member, want it unchanged")
	}
}
