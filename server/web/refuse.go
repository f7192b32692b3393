package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// The header values that all answers share.
var (
	typeText = []string{"text/plain; charset=utf-8"}
	typeJSON = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	bearer   = []string{"Bearer"}
)

// refusal is an error with an HTTP status that does not follow from its code.
type refusal struct {
	status int
	why    *rpc.Error
}

func (r *refusal) Error() string { return r.why.Message }

// read returns the HTTP status of an error, by the mapping in google.rpc.Code, and the error as an rpc.Error. It converts
// errors of contexts, which have no gRPC code, first.
func read(err error) (int, *rpc.Error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status, r.why
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = status.FromContextError(err).Err()
	}
	e := rpc.FromError(err)
	if text := trust.Mask(e.Message); text != e.Message { // errors of the gateway quote parameters
		masked := *e
		masked.Message, e = text, &masked
	}
	return runtime.HTTPStatusFromCode(e.Code), e
}

// readable returns an error that rpc.FromError can read, or nil.
func readable(err error) error {
	if err == nil {
		return nil
	}
	_, e := read(err)
	return e
}

// invalid returns the error of a request that can never succeed.
func invalid(message string) *rpc.Error {
	return rpc.NewError(rpc.InvalidArgument, message)
}

// unreadable returns the error of a body that cannot be read.
func unreadable(err error) error {
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{http.StatusRequestEntityTooLarge, invalid(fmt.Sprintf("body: expected at most %d bytes", tooLong.Limit))}
	}
	return invalid("read body: " + err.Error())
}

// wrongMethod sets the Allow header and returns the error of a method that the path does not take. why ends the message.
func wrongMethod(w http.ResponseWriter, r *http.Request, allowed, why string) error {
	w.Header().Set("Allow", allowed)
	return &refusal{http.StatusMethodNotAllowed,
		rpc.NewError(rpc.MethodNotAllowed, fmt.Sprintf("%s takes %s, not %s%s", r.URL.Path, allowed, r.Method, why))}
}

// head sets the headers of every refusal.
func head(w http.ResponseWriter, contentType []string, e *rpc.Error) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = contentType, noStore, noSniff
	if e.Code == codes.Unauthenticated {
		h["Www-Authenticate"] = bearer
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(e.RetryAfter.Seconds()), 'f', 0, 64))
	}
}

// refuseJSON answers with a google.rpc.Status.
func refuseJSON(w http.ResponseWriter, _ *http.Request, err error) {
	code, e := read(err)
	s := status.New(e.Code, e.Message).Proto()
	if e.Reason != "" {
		s = e.GRPCStatus().Proto()
	}
	body, err := codec.Marshal(s)
	if err != nil { // the message is not UTF-8
		body = fmt.Appendf(nil, "{\"code\":%d,\"message\":%q}\n", e.Code, "error text not valid in JSON")
	}
	head(w, typeJSON, e)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// Refuse answers a request for text with an error, on a single line and with the HTTP status and the headers of the
// error.
func Refuse(w http.ResponseWriter, err error) { refuseText(w, nil, err) }

// refuseText answers with one line: the reason, if there is one, and the message.
func refuseText(w http.ResponseWriter, _ *http.Request, err error) {
	code, e := read(err)
	line := oneLine(e.Message)
	if e.Reason != "" {
		line = e.Reason + ": " + line
	}
	head(w, typeText, e)
	w.WriteHeader(code)
	_, _ = w.Write([]byte(line + "\n"))
}

// oneLine replaces the characters of a text that would end a line or control a terminal with spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
