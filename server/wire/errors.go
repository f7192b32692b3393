package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/trust"
)

// row is an error of the domain that needs only a reason.
type row struct {
	is     error
	reason string
}

// rows lists these errors. An outgoing error gets the reason of its row. An incoming reason stands for the error of the first row
// that has it, except [rpc.InvalidArgument], which several rows have. A refusal has the reason of the same name, with one exception.
var rows = func() []row {
	all := []row{
		{cluster.ErrClosed, rpc.ShuttingDown},
		{member.ErrStrict, rpc.StrictSequence},
		{sequence.ErrInvalidFormat, rpc.InvalidArgument},
		{sequence.ErrInvalidText, rpc.InvalidArgument},
		{sequence.ErrUnknownZone, rpc.InvalidArgument},
		{sequence.ErrInvalidYearStart, rpc.InvalidArgument},
		{cluster.ErrNotLeader, rpc.NotLeader},
		{member.ErrNoLeader, rpc.NoLeader},
		{cluster.ErrUnknownMember, rpc.UnknownMember},
		{cluster.ErrQuorum, rpc.QuorumAtRisk},
		{member.ErrUpgradeBlocked, rpc.UpgradeBlocked},
		{cluster.ErrAmbiguousMember, rpc.InvalidArgument},
		{cluster.ErrOwnAddress, rpc.InvalidArgument},
		{cluster.ErrNamesUnknown, rpc.NamesIncomplete},
		{cluster.ErrOtherCluster, rpc.OtherCluster},
		{cluster.ErrNameTaken, rpc.NameTaken},
		{cluster.ErrTooOld, rpc.ProgramTooOld},
		{cluster.ErrMemberUnreachable, rpc.MemberUnreachable},
		{cluster.ErrNotAlive, rpc.MemberNotAlive},
		{cluster.ErrNoSuccessor, rpc.NoSuccessor},
		{cluster.ErrUnknownOutcome, rpc.CommitUnknown},
	}
	for n, name := range commandv1.Refusal_name {
		r := row{refused(commandv1.Refusal(n)), strings.TrimPrefix(name, "REFUSAL_")}
		switch commandv1.Refusal(n) {
		case commandv1.Refusal_REFUSAL_UNSPECIFIED:
			continue
		case commandv1.Refusal_REFUSAL_GENERATION_MISMATCH:
			r.reason = rpc.SequenceChanged
		}
		all = append(all, r)
	}
	return all
}()

func refused(reason commandv1.Refusal) error { return &fsm.Refused{Reason: reason} }

// Status returns an error of the domain in the form that gRPC sends; nil for nil. Errors that have this form already stay as
// they are. An error without a reason of its own gets the reason Internal. See also [rpc.Classify], the part of the table
// that embedded generators use too.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err // an error of another member, or made for gRPC
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
		denied     *trust.Denied
		limited    *trust.RateLimited
	)
	switch {
	case errors.As(err, &denied):
		e := rpc.NewError(rpc.PermissionDenied, "")
		if denied.Unauthenticated {
			e = rpc.NewError(rpc.Unauthenticated, "")
		}
		e.Cause = denied
		return e
	case errors.Is(err, trust.ErrBehind):
		return rpc.NewError(rpc.NoLeader, "")
	case errors.As(err, &limited):
		e := rpc.NewError(rpc.RateLimited, "")
		e.RetryAfter, e.Cause = max(limited.RetryAfter, time.Millisecond), limited
		return e
	case errors.Is(err, cluster.ErrUnknownOutcome): // before the cause of the interruption, which err may wrap too
		return rpc.NewError(rpc.CommitUnknown, "")
	case errors.As(err, &layout):
		e := rpc.NewError(rpc.UnknownLayout, "")
		e.Metadata = map[string]string{rpc.MetadataLayout: layout.Layout}
		return e
	case errors.As(err, &unnumbered):
		e := rpc.NewError(rpc.UnknownSequence, "")
		e.Metadata = map[string]string{rpc.MetadataSequence: unnumbered.Sequence}
		return e
	case errors.As(err, &generation):
		e := rpc.NewError(rpc.GenerationMismatch, "")
		e.Metadata = map[string]string{rpc.MetadataGeneration: strconv.FormatUint(generation.Present, 10)}
		return e
	case errors.As(err, &version):
		return rpc.NewError(rpc.VersionTooLow, "")
	}
	if e := rpc.Classify(err, time.Now()); e != nil {
		return e
	}
	e := rpc.NewError(rpc.Internal, "")
	for _, row := range rows {
		if errors.Is(err, row.is) {
			e = rpc.NewError(row.reason, "")
			break
		}
	}
	if errors.As(err, &refused) && refused.RetryAtMillis != 0 {
		e.RetryAfter = max(time.Until(time.UnixMilli(refused.RetryAtMillis)), time.Millisecond)
	}
	return e
}

// FromMember returns an error of another member, which must not be nil. Its cause is the error of the domain for which its
// reason stands.
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

// Invalid returns the error of a request that can never succeed.
func Invalid(message string) error { return rpc.NewError(rpc.InvalidArgument, message) }

// Overloaded returns the error of a call that is rejected because limit calls of its kind already wait at this member.
func Overloaded(limit int, kind string) error {
	return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d calls of %s are waiting at this member; try again later, or try another member", limit, kind))
}

// ShuttingDown returns the error of a call at a process that closes its ports.
func ShuttingDown() error {
	return rpc.NewError(rpc.ShuttingDown, "this member is shutting down; try another member")
}
