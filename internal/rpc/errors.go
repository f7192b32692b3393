package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// Error is an error in the machine-readable form that the API sends.
type Error struct {
	Code    codes.Code
	Reason  string // one of [Reasons], or of a later version; empty for errors of contexts and of other systems
	Message string // human-readable
	// RetryAfter is the time after which a retry may succeed; 0 if waiting does not help.
	RetryAfter time.Duration
	Metadata   map[string]string // keys are the constants Metadata…
	// Cause is the Go error that the Error stands for, for errors.Is and errors.As; nil
	// if there is none.
	Cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Type returns the class of the error: its reason or, without one, the name of its code.
func (e *Error) Type() string { return cmp.Or(e.Reason, CodeName(e.Code)) }

// CodeName returns the name of a code as in the documentation, such as NOT_FOUND. A code that gRPC does not define, which a
// foreign server may send, is UNKNOWN, so that metrics have few codes.
func CodeName(c codes.Code) string {
	if c > codes.Unauthenticated {
		c = codes.Unknown
	}
	return code.Code(c).String()
}

// GRPCStatus returns the status, with details, that gRPC sends for the error.
func (e *Error) GRPCStatus() *status.Status {
	s := status.New(e.Code, e.Message)
	var details []protoadapt.MessageV1
	if e.Reason != "" {
		details = append(details, protoadapt.MessageV1Of(&errdetails.ErrorInfo{Reason: e.Reason, Domain: Domain, Metadata: e.Metadata}))
	}
	if e.RetryAfter > 0 {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}))
	}
	if with, err := s.WithDetails(details...); err == nil {
		return with
	}
	return s
}

// FromError returns the Error in the chain of err or, if there is none, the Error that arrived over gRPC as err,
// which must not be nil. An err without Snowraft's details becomes an Error with an empty reason. The
// corresponding error of contexts, lanes and clocks becomes the Cause.
func FromError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	s := status.Convert(err)
	e = &Error{Code: s.Code(), Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain {
				e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	e.Cause = e.cause()
	return e
}

// cause returns the error of lanes or contexts that corresponds to e, or nil.
func (e *Error) cause() error {
	if i := slices.IndexFunc(causes, func(c reasoned) bool { return c.reason == e.Reason }); i >= 0 {
		return causes[i].is
	}
	switch e.Reason {
	case WorkersExhausted:
		return &allocator.WorkersExhaustedError{Layout: e.Metadata[MetadataLayout], RetryAt: time.UnixMilli(e.millis(MetadataRetryAt))}
	case Fenced:
		return &allocator.FencedError{Layout: e.Metadata[MetadataLayout], RetryAt: time.UnixMilli(e.millis(MetadataRetryAt))}
	case ClockBehind:
		return &clock.BehindError{Behind: e.duration(MetadataBehind), Limit: e.duration(MetadataLimit)}
	case ClockSkew:
		return &clock.SkewError{Ahead: e.duration(MetadataAhead), Limit: e.duration(MetadataLimit)}
	case "":
		switch e.Code {
		case codes.DeadlineExceeded:
			return context.DeadlineExceeded
		case codes.Canceled:
			return context.Canceled
		}
	}
	return nil
}

// named returns err as an *Error if that has a Cause, so that lanes can find the Cause.
func named(err error) error {
	if e := FromError(err); e.Cause != nil {
		return e
	}
	return err
}

// millis returns a metadata value in milliseconds; 0 if it is missing or invalid.
func (e *Error) millis(key string) int64 {
	v, err := strconv.ParseInt(e.Metadata[key], 10, 64)
	if err != nil {
		return 0
	}
	return v
}

func (e *Error) duration(key string) time.Duration {
	return time.Duration(e.millis(key)) * time.Millisecond
}
