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

// ErrClosed is the error of everything after Close: the Client, or what was made of it, was closed.
var ErrClosed = errors.New("client: closed")

// Conditions of an [Error], to be matched with errors.Is. Each but ErrUnavailable is a reason of docs/errors.md, which
// lists what to do.
var (
	// ErrUnavailable is any error that says that no member could be reached, or none that can serve the call now.
	ErrUnavailable error = condition("no member can serve this now")
	// ErrNoLeader: the cluster has no leader now, so nothing was done.
	ErrNoLeader error = condition(rpc.NoLeader)
	// ErrCommitUnknown: the request may have been done.
	ErrCommitUnknown error = condition(rpc.CommitUnknown)
	// ErrOverloaded: the member has too many calls or connections now.
	ErrOverloaded error = condition(rpc.Overloaded)
	// ErrLimitReached: the cluster has as many layouts or sequences as it can have.
	ErrLimitReached error = condition(rpc.LimitReached)
	// ErrVersionTooLow: some member does not know this command yet.
	ErrVersionTooLow error = condition(rpc.VersionTooLow)
	// ErrInvalidArgument: the request can never succeed.
	ErrInvalidArgument error = condition(rpc.InvalidArgument)

	// ErrUnauthenticated: the client has no token, or one that is not valid.
	ErrUnauthenticated error = condition(rpc.Unauthenticated)
	// ErrPermissionDenied: the client's token lacks a scope, which the error names.
	ErrPermissionDenied error = condition(rpc.PermissionDenied)
	// ErrRateLimited: the client's token may not have as much per second. RetryAfter of the [Error] says when it may.
	ErrRateLimited error = condition(rpc.RateLimited)

	// ErrClockBehind: a clock is behind by more than the wait threshold, until it has caught up.
	ErrClockBehind error = condition(rpc.ClockBehind)
	// ErrClockSkew: a clock is ahead of the majority's by more than allowed.
	ErrClockSkew error = condition(rpc.ClockSkew)
	// ErrWindowEnded: the window ended and no other was granted in time.
	ErrWindowEnded error = condition(rpc.WindowEnded)
	// ErrWorkersExhausted: all workers of the layout are held. RetryAfter of the [Error] says when the
	// first may be free.
	ErrWorkersExhausted error = condition(rpc.WorkersExhausted)
	// ErrUnknownLayout: the cluster has no layout of this name.
	ErrUnknownLayout error = condition(rpc.UnknownLayout)
	// ErrLayoutExists: the cluster has another layout of this name.
	ErrLayoutExists error = condition(rpc.LayoutExists)
	// ErrTimeExhausted: the time field of the layout is full.
	ErrTimeExhausted error = condition(rpc.TimeExhausted)

	// ErrUnknownSequence: the cluster has no sequence of this name.
	ErrUnknownSequence error = condition(rpc.UnknownSequence)
	// ErrSequenceExists: the cluster has another sequence of this name.
	ErrSequenceExists error = condition(rpc.SequenceExists)
	// ErrSequenceExhausted: the sequence has fewer numbers left than requested.
	ErrSequenceExhausted error = condition(rpc.SequenceExhausted)
	// ErrSequenceChanged: the sequence was changed during the call, so nothing was done.
	ErrSequenceChanged error = condition(rpc.SequenceChanged)
	// ErrWouldRepeat: numbers that were issued could be issued again.
	ErrWouldRepeat error = condition(rpc.WouldRepeat)
	// ErrRequestIDReused: the request ID belongs to an earlier request with another count.
	ErrRequestIDReused error = condition(rpc.RequestIDReused)
	// ErrStrictSequence: a strict sequence has no blocks, because the leader issues its numbers.
	ErrStrictSequence error = condition(rpc.StrictSequence)
	// ErrGenerationMismatch: what is to be changed does not have the expected generation, so nothing was done.
	ErrGenerationMismatch error = condition(rpc.GenerationMismatch)

	// ErrUnknownMember: the cluster has no member with this ID or name.
	ErrUnknownMember error = condition(rpc.UnknownMember)
	// ErrMemberUnreachable: no member answers at the address of the member to add.
	ErrMemberUnreachable error = condition(rpc.MemberUnreachable)
	// ErrMemberNotAlive: the voter that is to lead is not alive.
	ErrMemberNotAlive error = condition(rpc.MemberNotAlive)
	// ErrAlreadyLeaving: the member is leaving already.
	ErrAlreadyLeaving error = condition(rpc.AlreadyLeaving)
)

// condition is the reason of an Error as an error to compare with.
type condition string

func (c condition) Error() string { return "client: " + string(c) }

// Error is the failure of a call. It carries the most specific error of all tries. Calls that may be repeated
// without harm are tried several times, and an earlier try may have been done.
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
	from    error    // as it came, with all details; nil if it was made here
	cause   error    // why there was no further try: that of the context; may be nil
	foreign bool     // what answered was not a member
	careful bool     // a repetition may do harm if the request was done
	also    []*Error // of other members that were asked
}

// Error says what happened and where.
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

// Each returns the errors of all members that were asked last, in this order. Their texts and
// members are their own.
func (e *Error) Each() []*Error {
	alone := *e
	alone.also = nil
	each := append([]*Error{&alone}, e.also...)
	slices.SortStableFunc(each, func(a, b *Error) int { return a.nth - b.nth })
	return each
}

// part is the answer of one member.
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

// Is reports whether the target is the condition of this error.
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

// Repeatable reports whether the same call may be made again: it may succeed then, after RetryAfter, and does no harm if
// this one was done.
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

// repeat returns what the table of reasons says of the error; without a reason, the call broke off or was refused.
func (e *Error) repeat() rpc.Repeat {
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

// Unwrap is the error of the context that ended the call, if it did.
func (e *Error) Unwrap() error { return e.cause }

// As lets lanes find what a member said in full.
func (e *Error) As(target any) bool {
	wire, ok := target.(**rpc.Error)
	if !ok || e.from == nil {
		return false
	}
	*wire = rpc.FromError(e.from)
	return true
}

// GRPCStatus returns the status that the member answered, with all details, for programs that forward it.
func (e *Error) GRPCStatus() *status.Status {
	if e.from != nil {
		return status.Convert(e.from)
	}
	return (&rpc.Error{Code: cmp.Or(e.code, codes.Unknown), Reason: e.Reason, Message: e.message, RetryAfter: e.RetryAfter}).GRPCStatus()
}

// newError is an error that came from a member, or from gRPC.
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

// allocating is the error of an allocator in this process.
func allocating(err error, now time.Time) *Error {
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

// negative is the refusal of a floor that is not an ID.
func negative(after int64) error {
	return invalid(fmt.Sprintf("after %d: expected an ID or 0", after))
}

// checkCount refuses to request n things of a kind if that is not 1 to 1,000,000.
func checkCount(n int, of string) error {
	if n < 1 || n > limits.Count {
		return invalid(fmt.Sprintf("count of %[2]s %[1]d: expected 1 to %[3]d", n, of, limits.Count))
	}
	return nil
}

// interrupted is the error of a caller whose context ended while it waited; last is what was
// in the way until then, or nil.
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

// late reports whether the error says only that the time was up.
func (e *Error) late() bool { return e.Reason == "" && e.code == codes.DeadlineExceeded }

// fleeting reports whether the same member may answer in a moment.
func (e *Error) fleeting() bool {
	switch e.Reason {
	case "", rpc.ShuttingDown:
		return false
	case rpc.SequenceChanged:
		return true // by another client; nothing was done
	default:
		return e.code == codes.Unavailable && e.RetryAfter <= electionTime
	}
}
