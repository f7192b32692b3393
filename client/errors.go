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

// What a cluster may refuse, to be matched with errors.Is. An [Error] says more.
var (
	// ErrUnavailable: no member could be reached, or none that can do it now.
	ErrUnavailable error = condition("no member can serve this now")
	// ErrNoLeader: the cluster has no leader now, so nothing was done. Trying again helps.
	ErrNoLeader error = condition(rpc.NoLeader)
	// ErrCommitUnknown: it may have been done or not.
	ErrCommitUnknown error = condition(rpc.CommitUnknown)
	// ErrClockBehind: a clock went back by more than the wait threshold. It ends by itself.
	ErrClockBehind error = condition(rpc.ClockBehind)
	// ErrClockSkew: a clock is further off the majority's than allowed.
	ErrClockSkew error = condition(rpc.ClockSkew)
	// ErrWindowEnded: the granted window is used up and no other was granted in time.
	ErrWindowEnded error = condition(rpc.WindowEnded)
	// ErrWorkersExhausted: all workers of the layout are held. RetryAfter of the [Error] says when the
	// first may be free.
	ErrWorkersExhausted error = condition(rpc.WorkersExhausted)
	// ErrUnknownLayout: the cluster has no layout of this name.
	ErrUnknownLayout error = condition(rpc.UnknownLayout)
	// ErrLayoutExists: the cluster has another layout of this name.
	ErrLayoutExists error = condition(rpc.LayoutExists)
	// ErrTimeExhausted: the layout's time field is full, for ever.
	ErrTimeExhausted error = condition(rpc.TimeExhausted)
	// ErrUnknownSequence: the cluster has no sequence of this name.
	ErrUnknownSequence error = condition(rpc.UnknownSequence)
	// ErrSequenceExists: the cluster has another sequence of this name.
	ErrSequenceExists error = condition(rpc.SequenceExists)
	// ErrSequenceExhausted: the sequence has fewer numbers left than were asked for.
	ErrSequenceExhausted error = condition(rpc.SequenceExhausted)
	// ErrStrictSequence: blocks of the sequence were asked for, but the leader numbers it.
	ErrStrictSequence error = condition(rpc.StrictSequence)
	// ErrWouldRepeat: with the change numbers would be issued twice.
	ErrWouldRepeat error = condition(rpc.WouldRepeat)
	// ErrGenerationMismatch: what is to be changed does not have the expected generation, so nothing was done.
	ErrGenerationMismatch error = condition(rpc.GenerationMismatch)
	// ErrInvalidArgument: the request can never succeed.
	ErrInvalidArgument error = condition(rpc.InvalidArgument)
)

// condition is the reason of an Error as an error to compare with.
type condition string

func (c condition) Error() string { return "client: " + string(c) }

// Error is why a call failed. It tells of the try that told most. What may be done twice
// without harm is tried several times, and an earlier try may have been done all the same.
type Error struct {
	// Reason is that of the member, such as "NO_LEADER" (see docs/grpc.md); empty if no member gave one.
	Reason string
	// Member is the address of the member that was asked last; empty if none was.
	Member string
	// RetryAfter is when trying again may help; 0: not told.
	RetryAfter time.Duration
	// Unsent reports whether nothing was sent, because there was no connection to the member.
	Unsent bool

	nth     int // position among the tries of its round
	message string
	code    codes.Code
	from    error    // as it came, with all details; nil if it was made here
	cause   error    // why there was no further try: that of the context; may be nil
	foreign bool     // what answered was no member
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

// part is what one member has to say.
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
		return false
	}
	if c == ErrUnavailable {
		return e.code == codes.Unavailable
	}
	return e.Reason == string(c) || c == ErrNoLeader && e.Reason == rpc.NotLeader
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

// GRPCStatus is what the member answered, with all details, for programs that pass it on.
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
	return &Error{code: codes.Internal, message: "the answer of a member has " + fmt.Sprintf(format, args...) +
		": it was thrown away; please report it, with the versions of client and member"}
}

// negative is the refusal of a floor that is not an ID.
func negative(after int64) error {
	return invalid(fmt.Sprintf("after is %d, expected an ID or 0", after))
}

// checkCount refuses to ask for n things of a kind if that is not 1 to 1,000,000.
func checkCount(n int, of string) error {
	if n < 1 || n > limits.Count {
		return invalid(fmt.Sprintf("%d %s were asked for, expected 1 to %d", n, of, limits.Count))
	}
	return nil
}

// interrupted is the error of a caller whose context ended while it waited; last is what was
// in the way until then, or nil.
func interrupted(cause error, last *Error) error {
	e := Error{message: "the caller stopped waiting before there was an answer", code: codes.Canceled}
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
