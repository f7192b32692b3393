package thrift

import (
	"cmp"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/internal/rpc"
)

// The messages begin with the names of the exceptions of Twitter's server.
var (
	errInvalidAgent  = rpc.NewError(rpc.InvalidArgument, "InvalidUserAgentError: user agent: expected a letter, then letters, digits, hyphens and underscores, at most 256 bytes")
	errUnknownMethod = rpc.NewError(rpc.InvalidArgument, "unknown method; expected get_id, get_worker_id, get_datacenter_id or get_timestamp")
)

// exception returns an error in the form that clients of the service can read.
func exception(err error) thrift.TApplicationException {
	if errors.Is(err, errUnknownMethod) {
		return thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, errUnknownMethod.Error())
	}
	e := rpc.FromError(err)
	message := cmp.Or(e.Message, "the member gave no reason")
	switch e.Reason {
	case rpc.Unauthenticated:
		message = `Thrift carries no token, and the token "anonymous" lacks the scope "ids:issue:` + Layout + `"; set it with "snowraft token update anonymous", together with the scopes that the token has`
	case rpc.ClockBehind, rpc.ClockSkew:
		message = "InvalidSystemClock: " + message
	}
	if e.Reason != "" {
		message += " [" + e.Reason + "]"
	}
	return thrift.NewTApplicationException(thrift.INTERNAL_ERROR, message)
}
