package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// ErrClosed is the error of all calls after Close: the Client, or an object created from it, was closed. If an [*Error] matches
// it, the call was in progress, and a member may have done it.
var ErrClosed = errors.New("client: closed")

// Conditions of an [Error], to be matched with errors.Is. Each except ErrUnavailable is a reason of docs/errors.md, which
// lists the actions to take.
var (
	// ErrUnavailable matches any error that reports that no reachable member can serve the call now.
	ErrUnavailable error = condition("no member can serve this now")
	// ErrNoLeader reports that the cluster has no leader now, so nothing was done.
	ErrNoLeader error = condition(rpc.NoLeader)
	// ErrCommitUnknown reports that the request may have been done.
	ErrCommitUnknown error = condition(rpc.CommitUnknown)
	// ErrOverloaded reports that the member has too many calls or connections now.
	ErrOverloaded error = condition(rpc.Overloaded)
	// ErrLimitReached reports that the cluster has as many layouts or sequences as it can have, or that the quota of a template or
	// token is used up.
	ErrLimitReached error = condition(rpc.LimitReached)
	// ErrVersionTooLow reports that some member does not know this command yet.
	ErrVersionTooLow error = condition(rpc.VersionTooLow)
	// ErrInvalidArgument reports that the request can never succeed.
	ErrInvalidArgument error = condition(rpc.InvalidArgument)

	// ErrUnauthenticated reports that the client has no token, or one that is not valid.
	ErrUnauthenticated error = condition(rpc.Unauthenticated)
	// ErrPermissionDenied reports that the client's token lacks a scope, which the error names.
	ErrPermissionDenied error = condition(rpc.PermissionDenied)
	// ErrRateLimited reports that the call exceeds the rate limit of the client's token. RetryAfter of the [Error] is the time until
	// the limit allows it.
	ErrRateLimited error = condition(rpc.RateLimited)

	// ErrClockBehind reports that a clock is behind by more than the wait threshold, until it has caught up.
	ErrClockBehind error = condition(rpc.ClockBehind)
	// ErrClockSkew reports that a clock is ahead of the majority's by more than allowed.
	ErrClockSkew error = condition(rpc.ClockSkew)
	// ErrWindowEnded reports that the window ended and no other was granted in time.
	ErrWindowEnded error = condition(rpc.WindowEnded)
	// ErrWorkersExhausted reports that all workers of the layout are held. RetryAfter of the [Error] is the time until the first
	// worker may be free.
	ErrWorkersExhausted error = condition(rpc.WorkersExhausted)
	// ErrUnknownLayout reports that the cluster has no layout of this name.
	ErrUnknownLayout error = condition(rpc.UnknownLayout)
	// ErrLayoutExists reports that the cluster has another layout of this name.
	ErrLayoutExists error = condition(rpc.LayoutExists)
	// ErrTimeExhausted reports that the time field of the layout is full.
	ErrTimeExhausted error = condition(rpc.TimeExhausted)

	// ErrUnknownSequence reports that the cluster has no sequence of this name.
	ErrUnknownSequence error = condition(rpc.UnknownSequence)
	// ErrSequenceExists reports that the cluster has another sequence of this name.
	ErrSequenceExists error = condition(rpc.SequenceExists)
	// ErrSequenceExhausted reports that the sequence has fewer numbers left than requested.
	ErrSequenceExhausted error = condition(rpc.SequenceExhausted)
	// ErrSequenceChanged reports that the sequence was changed during the call, so nothing was done.
	ErrSequenceChanged error = condition(rpc.SequenceChanged)
	// ErrWouldRepeat reports that numbers that were issued could be issued again.
	ErrWouldRepeat error = condition(rpc.WouldRepeat)
	// ErrRequestIDReused reports that the request ID belongs to an earlier request with another count.
	ErrRequestIDReused error = condition(rpc.RequestIDReused)
	// ErrStrictSequence reports that a strict sequence has no blocks, because the leader issues its numbers.
	ErrStrictSequence error = condition(rpc.StrictSequence)
	// ErrGaplessSequence reports that the numbers of a gapless sequence are reserved, and not issued; see [Sequence.Reserve].
	ErrGaplessSequence error = condition(rpc.GaplessSequence)
	// ErrNotGapless reports that the sequence has no reservations, because it is not gapless.
	ErrNotGapless error = condition(rpc.NotGapless)
	// ErrReservationsOpen reports that the sequence has as many open reservations as it can have. The error names the oldest key.
	ErrReservationsOpen error = condition(rpc.ReservationsOpen)
	// ErrStaleAttempt reports that the key was reserved again since the claim, so nothing was done.
	ErrStaleAttempt error = condition(rpc.StaleAttempt)
	// ErrUnknownReservation reports that the cluster does not remember the reservation.
	ErrUnknownReservation error = condition(rpc.UnknownReservation)
	// ErrAlreadySettled reports that the number has another fate already.
	ErrAlreadySettled error = condition(rpc.AlreadySettled)
	// ErrNumberUnresolved reports that a restore left the fate of the number unknown, until an operator resolves it.
	ErrNumberUnresolved error = condition(rpc.NumberUnresolved)
	// ErrUnknownTemplate reports that the cluster has no template of this pattern.
	ErrUnknownTemplate error = condition(rpc.UnknownTemplate)
	// ErrTemplateExists reports that the cluster has another template of this pattern.
	ErrTemplateExists error = condition(rpc.TemplateExists)
	// ErrTemplateSuspended reports that the template whose pattern matches begins no sequence until it is resumed after a restore.
	ErrTemplateSuspended error = condition(rpc.TemplateSuspended)
	// ErrGenerationMismatch reports that the object to change does not have the expected generation, so nothing was done.
	ErrGenerationMismatch error = condition(rpc.GenerationMismatch)

	// ErrUnknownMember reports that the cluster has no member with this ID or name.
	ErrUnknownMember error = condition(rpc.UnknownMember)
	// ErrMemberUnreachable reports that no member answers at the address of the member to add.
	ErrMemberUnreachable error = condition(rpc.MemberUnreachable)
	// ErrMemberNotAlive reports that the voter chosen as the new leader is not alive.
	ErrMemberNotAlive error = condition(rpc.MemberNotAlive)
	// ErrAlreadyLeaving reports that the member is leaving already.
	ErrAlreadyLeaving error = condition(rpc.AlreadyLeaving)
)

// condition is the reason of an Error. It implements error for the target of errors.Is.
type condition string

func (c condition) Error() string { return "client: " + string(c) }

// Error is the failure of a call. It carries the most specific error of all tries. The client tries calls that may be
// repeated without harm several times, so a member may have done an earlier try.
type Error struct {
	// Reason is the member's reason, such as "NO_LEADER" (see docs/errors.md); empty if no member gave one.
	Reason string
	// Member is the address of the member that was called last; empty if none was.
	Member string
	// RetryAfter is the time after which a retry may succeed; 0 if unknown.
	RetryAfter time.Duration
	// Unsent reports whether nothing was sent, because there was no connection to the member.
	Unsent bool

	nth     int // position among the tries of its round
	message string
	code    codes.Code
	from    error    // original error with all details; nil if this package created the error
	cause   error    // the context's error or ErrClosed, which prevented a further try; may be nil
	foreign bool     // the answer did not come from a member
	careful bool     // a repetition may do harm if the request was done
	also    []*Error // errors of other members that were called
}

// Error returns the message of each member, with its address and reason.
func (e *Error) Error() string {
	parts := make([]string, 0, 1+len(e.also))
	for _, of := range append([]*Error{e}, e.also...) {
		parts = append(parts, of.part())
	}
	text := "snowraft: " + strings.Join(parts, "; ")
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text
}

// Each returns the last errors of all members that were called, in the order of the calls. Each has its own member and
// message.
func (e *Error) Each() []*Error {
	alone := *e
	alone.also = nil
	each := append([]*Error{&alone}, e.also...)
	slices.SortStableFunc(each, func(a, b *Error) int { return a.nth - b.nth })
	return each
}

// part returns the message of one member, with its address and reason.
func (e *Error) part() (text string) {
	if e.Member != "" {
		text = e.Member + ": "
	}
	text += e.message
	if e.Reason != "" {
		text += " [" + e.Reason + "]"
	}
	return text
}

// Is reports whether the target is the condition of this error, or matches the original error of an unsent request.
func (e *Error) Is(target error) bool {
	c, ok := target.(condition)
	if !ok {
		return e.Unsent && errors.Is(e.from, target)
	}
	if c == ErrUnavailable {
		return e.code == codes.Unavailable
	}
	return e.Reason == string(c) || c == ErrNoLeader && e.Reason == rpc.NotLeader
}

// Repeatable reports whether the same call may be repeated: it may succeed after RetryAfter, and does no harm if a member
// has done this one.
func (e *Error) Repeatable() bool {
	switch e.repeat() {
	case rpc.RepeatYes, rpc.RepeatLater:
		return true
	case rpc.RepeatByMethod:
		return e.Unsent || !e.careful
	default:
		return false
	}
}

// repeat returns the entry of the table of reasons. Without a reason, it decides by the code: the call was interrupted or
// refused.
func (e *Error) repeat() rpc.Repeat {
	if errors.Is(e.cause, ErrClosed) {
		return rpc.RepeatNo
	}
	if r, ok := rpc.ReasonOf(e.Reason); ok {
		return r.Repeat
	}
	switch e.code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		if e.Reason == "" {
			return rpc.RepeatByMethod
		}
	}
	return rpc.RepeatNo
}

// unknown reports whether the member may have done the request, if it was sent.
func (e *Error) unknown() bool {
	r, ok := rpc.ReasonOf(e.Reason)
	return e.Reason == "" || ok && r.MayBeDone()
}

// Unwrap returns the error of the context that ended the call, or ErrClosed; nil if neither ended it.
func (e *Error) Unwrap() error { return e.cause }

// As sets the target to the complete error of the member, for lanes, or to the cause of an unsent request.
func (e *Error) As(target any) bool {
	wire, ok := target.(**rpc.Error)
	if !ok {
		return e.Unsent && errors.As(e.from, target)
	}
	if e.from == nil {
		return false
	}
	*wire = rpc.FromError(e.from)
	return true
}

// GRPCStatus returns the member's status with all details, for programs that forward it.
func (e *Error) GRPCStatus() *status.Status {
	if e.from != nil {
		return status.Convert(e.from)
	}
	return (&rpc.Error{Code: cmp.Or(e.code, codes.Unknown), Reason: e.Reason, Message: e.message, RetryAfter: e.RetryAfter}).GRPCStatus()
}

// newError returns an error of a member or of gRPC as an Error.
func newError(err error, member string) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := wired(rpc.FromError(err))
	e.Member, e.from = member, err
	_, e.Unsent = errors.AsType[unsent](err)
	return e
}

func wired(from *rpc.Error) *Error {
	e := &Error{Reason: from.Reason, RetryAfter: from.RetryAfter, message: from.Message, code: from.Code}
	switch from.Code {
	case codes.DeadlineExceeded:
		e.cause = context.DeadlineExceeded
	case codes.Canceled:
		e.cause = context.Canceled
	}
	return e
}

// allocating converts the error of an allocator in this process, or of a call for it, to a new Error.
func allocating(err error, now time.Time) *Error {
	if of, ok := errors.AsType[*Error](err); ok {
		e := *of
		return &e
	}
	e := wired(cmp.Or(rpc.Classify(err, now), rpc.FromError(err)))
	e.message = rpc.Message(err)
	return e
}

func invalid(message string) *Error {
	return &Error{Reason: rpc.InvalidArgument, code: codes.InvalidArgument, message: message}
}

func malformed(format string, args ...any) error {
	return &Error{code: codes.Internal, message: "invalid response of a member: " + fmt.Sprintf(format, args...) +
		"; discarded, please report it with the versions of client and member"}
}

// negative returns the error of a negative floor.
func negative(after int64) error {
	return invalid(fmt.Sprintf("after %d: expected an ID or 0", after))
}

// checkCount returns an error if n is not 1 to 1,000,000. The message names the kind of the requested things.
func checkCount(n int, of string) error {
	if n < 1 || n > limits.Count {
		return invalid(fmt.Sprintf("count of %[2]s %[1]d: expected 1 to %[3]d", n, of, limits.Count))
	}
	return nil
}

// interrupted returns the error of a caller whose context ended while it waited. last is the last error before that, or
// nil.
func interrupted(cause error, last *Error) error {
	e := Error{message: "the caller stopped waiting before the response", code: codes.Canceled}
	if isTimeout(cause) {
		e.code = codes.DeadlineExceeded
	}
	if last != nil {
		e = *last
	}
	e.cause = cause
	return &e
}

// late reports whether the error is a passed deadline without a reason.
func (e *Error) late() bool { return e.Reason == "" && e.code == codes.DeadlineExceeded }

// fleeting reports whether the same member may answer in a moment.
func (e *Error) fleeting() bool {
	switch e.Reason {
	case "", rpc.ShuttingDown, rpc.Contradicted:
		return false
	case rpc.SequenceChanged:
		return true // another client changed it; nothing was done
	default:
		return e.code == codes.Unavailable && e.RetryAfter <= electionTime
	}
}
