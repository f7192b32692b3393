package thrift

import (
	"cmp"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Names of the exceptions of Twitter's server.
const (
	invalidSystemClock    = "InvalidSystemClock"
	invalidUserAgentError = "InvalidUserAgentError"
)

var (
	errInvalidAgent  = rpc.NewError(rpc.InvalidArgument, "user agent: expected a letter, then letters, digits, hyphens and underscores, at most 256 bytes")
	errUnknownMethod = rpc.NewError(rpc.InvalidArgument, "unknown method; expected get_id, get_worker_id, get_datacenter_id or get_timestamp")
)

// exception returns an error in the form that clients of the service can read.
func exception(err error) thrift.TApplicationException {
	if errors.Is(err, errUnknownMethod) {
		return thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, errUnknownMethod.Error())
	}
	e := rpc.FromError(err)
	message := cmp.Or(e.Message, "the member gave no reason")
	switch {
	case e.Reason == rpc.Unauthenticated:
		message = `Thrift carries no token, and the token "anonymous" lacks the scope "ids:issue:` + Layout + `"; set it with "snowraft token update anonymous", together with the scopes that the token has`
	case errors.Is(err, errInvalidAgent):
		message = invalidUserAgentError + ": " + message
	case e.Reason == rpc.ClockBehind || e.Reason == rpc.ClockSkew:
		message = invalidSystemClock + ": " + message
	}
	if e.Reason != "" {
		message += " [" + e.Reason + "]"
	}
	return thrift.NewTApplicationException(thrift.INTERNAL_ERROR, message)
}
