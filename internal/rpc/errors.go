package rpc

import (
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// Error is an error as it travels: what happened, machine-readable.
type Error struct {
	Code    codes.Code
	Reason  string
	Message string
	// RetryAfter is when trying again may help; 0 when waiting does not help.
	RetryAfter time.Duration
	Metadata   map[string]string
}

func (e *Error) Error() string { return e.Message }

// GRPCStatus makes gRPC send the error with its details.
func (e *Error) GRPCStatus() *status.Status {
	s := status.New(e.Code, e.Message)
	details := []protoadapt.MessageV1{
		protoadapt.MessageV1Of(&errdetails.ErrorInfo{Reason: e.Reason, Domain: Domain, Metadata: e.Metadata}),
	}
	if e.RetryAfter > 0 {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}))
	}
	if with, err := s.WithDetails(details...); err == nil {
		return with
	}
	return s
}

// FromError reads an error that came over gRPC. Errors without our details
// become an Error with an empty reason.
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
	return e
}

// millis reads a metadata value in milliseconds.
func (e *Error) millis(key string) int64 {
	v, err := strconv.ParseInt(e.Metadata[key], 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// domain turns an error that came over gRPC into the one that a lane knows.
func domain(err error) error {
	if err == nil {
		return nil
	}
	e := FromError(err)
	ms := func(key string) time.Duration { return time.Duration(e.millis(key)) * time.Millisecond }
	switch e.Reason {
	case WindowMismatch:
		return allocator.ErrWindowMismatch
	case NotLastBlock:
		return allocator.ErrNotLastBlock
	case TimeExhausted:
		return allocator.ErrTimeExhausted
	case WorkersExhausted:
		return &allocator.WorkersExhaustedError{Layout: e.Metadata[MetadataLayout], RetryAt: time.UnixMilli(e.millis(MetadataRetryAt))}
	case ClockBehind:
		return &clock.BehindError{Behind: ms(MetadataBehind), Limit: ms(MetadataLimit)}
	case ClockSkew:
		return &clock.SkewError{Ahead: ms(MetadataAhead), Limit: ms(MetadataLimit)}
	default:
		return e
	}
}
