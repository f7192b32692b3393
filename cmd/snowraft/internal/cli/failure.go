package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
)

// conn makes the calls of the command line, and words their errors for people.
type conn struct{ grpc.ClientConnInterface }

func (c conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return Worded(c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...))
}

func (c conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, Worded(err)
	}
	return stream{s}, nil
}

// stream is a stream of the command line.
type stream struct{ grpc.ClientStream }

func (s stream) RecvMsg(m any) error { return Worded(s.ClientStream.RecvMsg(m)) }

// Worded returns the error of an API call in words for people.
func Worded(err error) error {
	if failed, ok := errors.AsType[*client.Error](err); ok {
		return &callError{failed}
	}
	return err
}

// callError is the error of a call that no member answered, or that one member refused on behalf of all.
type callError struct{ failed *client.Error }

func (e *callError) Unwrap() error { return e.failed }

func (e *callError) Error() string {
	each := e.failed.Each()
	if len(each) > 1 {
		tried := Map(func(f *client.Error) string { return f.Member + ": " + reason(f) }, each)
		return fmt.Sprintf("no answer from any of %d members: %s", len(tried), strings.Join(tried, "; ")) + transportHint(each[0])
	}
	if f := each[0]; f.Unsent {
		return f.Member + ": " + reason(f) + cmp.Or(transportHint(f), unsentHint(f))
	}
	return reason(each[0])
}

// unsentHint returns the advice for a call to one member that got no connection; empty if the error has its own advice.
func unsentHint(err *client.Error) string {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case strings.Contains(reason(err), "; "):
		return ""
	case unverified:
		return "; set --ca-file to the CA that issued the certificate"
	case errors.Is(err, rpc.ErrNotAPI):
		return "; set --addr to the API address of a member, by default port " + strconv.Itoa(APIPort)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; start a member with \"snowraft serve\" or a cluster with \"snowraft dev\", or set --addr"
	default:
		return "; set --addr to a member that runs"
	}
}

// Cause returns the reason that a call to one member failed, without advice.
func Cause(err error) string {
	if failed, ok := errors.AsType[*client.Error](err); ok {
		return reason(failed.Each()[0])
	}
	return err.Error()
}

// asFlags gives fields of requests the names of their flags.
var asFlags = strings.NewReplacer("set force_format", "set --force-format", "set force", "set --force")

// reason returns the error text that one member sent, or gRPC's error text about that member.
func reason(f *client.Error) string {
	e := rpc.FromError(f)
	switch {
	case f.Unsent:
		return e.Message
	case e.Reason != "":
		s := fmt.Sprintf("%s [%s]", asFlags.Replace(e.Message), e.Reason)
		if e.RetryAfter > 0 {
			s += fmt.Sprintf(", try again in %v", roundUp(e.RetryAfter))
		}
		return s
	case e.Code == codes.DeadlineExceeded:
		return "no answer in time"
	case e.Code == codes.Unavailable:
		return "connection lost: " + OneLine(e.Message)
	default:
		return fmt.Sprintf("%s [%v]", e.Message, e.Code)
	}
}

// roundUp rounds a waiting time up to milliseconds, or to seconds if it is longer than 10 s.
func roundUp(d time.Duration) time.Duration {
	unit := time.Millisecond
	if d > 10*time.Second {
		unit = time.Second
	}
	return (d + unit - 1).Truncate(unit)
}

// statusOf returns an error as the status that HTTP answers with. It is the member's status if a single member
// answered, INVALID_ARGUMENT for wrong usage, and a status without a reason for a failure in this program.
func statusOf(err error) *statuspb.Status {
	var e rpc.Error
	if failed, ok := errors.AsType[*client.Error](err); ok {
		e = *rpc.FromError(failed)
		if each := failed.Each(); len(each) > 1 || each[0].Unsent {
			e.Message = err.Error()
		}
	} else if wrong, ok := errors.AsType[exit](err); ok && wrong.code == ExitUsage {
		e = rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument, Message: err.Error()}
	} else {
		e = *rpc.FromError(err)
	}
	e.Message = hide(strings.ToValidUTF8(e.Message, "\uFFFD"))
	return e.GRPCStatus().Proto()
}
