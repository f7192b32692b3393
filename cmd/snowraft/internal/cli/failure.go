package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// failure is one member's failure to answer a call.
type failure struct {
	address string
	refusal *rpc.Error // what the member or gRPC said; nil without a connection
	connect error      // why there is no connection
}

func newFailure(address string, err error) failure {
	if unconnected, ok := errors.AsType[*connectError](err); ok {
		return failure{address: address, connect: unconnected.err}
	}
	return failure{address: address, refusal: rpc.FromError(err)}
}

// elsewhere reports whether another member may answer, and asking it is safe.
// Unless a repetition is harmless, it is safe only if nothing was done.
func (f failure) elsewhere(harmless bool) bool {
	if f.connect != nil {
		return true
	}
	switch f.refusal.Reason {
	case rpc.NotLeader, rpc.NoLeader, rpc.ShuttingDown:
		return true
	case rpc.SequenceChanged, rpc.ClockBehind, rpc.ClockSkew, rpc.WindowEnded, rpc.WorkersExhausted, rpc.CommitUnknown:
		return harmless
	case "":
		return harmless && (f.refusal.Code == codes.Unavailable || f.refusal.Code == codes.DeadlineExceeded)
	default:
		return false
	}
}

// again reports whether the same member may answer in a moment.
func (f failure) again() bool {
	if f.refusal == nil || f.refusal.RetryAfter > RetryFor {
		return false
	}
	if f.refusal.Reason == rpc.SequenceChanged {
		return true // by another, in between: nothing was done
	}
	return f.refusal.Reason != "" && f.refusal.Code == codes.Unavailable && f.refusal.Reason != rpc.ShuttingDown
}

func (f failure) String() string {
	if f.connect != nil {
		return dialReason(f.connect)
	}
	e := f.refusal
	switch {
	case e.Reason != "":
		s := fmt.Sprintf("%s [%s]", e.Message, e.Reason)
		if e.RetryAfter > 0 {
			s += fmt.Sprintf(", try again in %v", roundUp(e.RetryAfter))
		}
		return s
	case e.Code == codes.DeadlineExceeded:
		return "no answer in time"
	case e.Code == codes.Unavailable:
		return "the connection broke: " + OneLine(e.Message)
	default:
		return fmt.Sprintf("%s [%v]", e.Message, e.Code)
	}
}

// dialReason shortens what a dialer says: the address stands before it anyway.
func dialReason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return errSilent.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err.Error()
}

// roundUp keeps what people need of a time to wait.
func roundUp(d time.Duration) time.Duration {
	unit := time.Millisecond
	if d > 10*time.Second {
		unit = time.Second
	}
	return (d + unit - 1).Truncate(unit)
}

// callError says that no member answered a call.
type callError struct {
	failures []failure
	final    bool // the one failure is one that any member would answer with
}

func (e *callError) again() bool { return !e.final && slices.ContainsFunc(e.failures, failure.again) }

// late reports whether all that the members said is that the time was up: theirs may be so a
// moment before this client's.
func (e *callError) late() bool {
	return !slices.ContainsFunc(e.failures, func(f failure) bool {
		return f.refusal == nil || f.refusal.Code != codes.DeadlineExceeded
	})
}

func (e *callError) Error() string {
	if e.final {
		return e.failures[0].String()
	}
	var tried []string
	unreachable := true
	for _, f := range e.failures {
		tried = append(tried, f.address+": "+f.String())
		unreachable = unreachable && f.connect != nil
	}
	switch {
	case len(tried) == 1 && !unreachable:
		return e.failures[0].String()
	case len(tried) == 1:
		return tried[0] + "; expected a member there: start one with \"snowraft serve\", or name others with --addr"
	default:
		return fmt.Sprintf("none of %d members answered: %s", len(tried), strings.Join(tried, "; "))
	}
}
