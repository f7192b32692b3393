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

// The headers of answers, as values that all of them share.
var (
	typeText = []string{"text/plain; charset=utf-8"}
	typeJSON = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	bearer   = []string{"Bearer"}
)

// refusal is an error whose status is not that of its code.
type refusal struct {
	status int
	why    *rpc.Error
}

func (r *refusal) Error() string { return r.why.Message }

// read returns the status of an error, as google.rpc.Code's description maps its code, and
// what the error says of itself; a context's does not say it in gRPC's words.
func read(err error) (int, *rpc.Error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status, r.why
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = status.FromContextError(err).Err()
	}
	e := rpc.FromError(err)
	if text := trust.Mask(e.Message); text != e.Message { // of the gateway's own errors, which quote parameters
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

// invalid is a request that can never succeed.
func invalid(message string) *rpc.Error {
	return rpc.NewError(rpc.InvalidArgument, message)
}

// unreadable returns the refusal of a body that cannot be read.
func unreadable(err error) error {
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{http.StatusRequestEntityTooLarge, invalid(fmt.Sprintf("body: expected at most %d bytes", tooLong.Limit))}
	}
	return invalid("read body: " + err.Error())
}

// wrongMethod refuses the method of a request whose path takes others; why ends the message.
func wrongMethod(w http.ResponseWriter, r *http.Request, allowed, why string) error {
	w.Header().Set("Allow", allowed)
	return &refusal{http.StatusMethodNotAllowed,
		rpc.NewError(rpc.MethodNotAllowed, fmt.Sprintf("%s takes %s, not %s%s", r.URL.Path, allowed, r.Method, why))}
}

// head sets what every refusal has.
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
	if err != nil { // a message that is no UTF-8
		body = fmt.Appendf(nil, "{\"code\":%d,\"message\":%q}\n", e.Code, "error text not valid in JSON")
	}
	head(w, typeJSON, e)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// Refuse answers a request for text with an error.
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

// oneLine takes out of a text what would end a line or steer a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
