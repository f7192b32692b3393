package client

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// mostNamed is the greatest number of addresses in a message.
const mostNamed = 5

// explain replaces the message of an error that no member gave a reason for. The messages of gRPC are long and require
// knowledge of gRPC.
func (e *Error) explain(addrs []string) {
	if e.Reason != "" {
		return
	}
	switch {
	case e.Member == "" && (e.code == codes.Unavailable || e.code == codes.DeadlineExceeded):
		e.explainNobody(addrs)
		e.code, e.Unsent = codes.Unavailable, true
	case e.code == codes.DeadlineExceeded:
		e.message = "no answer in time"
	default:
		e.foreign = foreign(e.message)
		e.message = plain(e.message)
	}
}

// explainNobody sets the message of an error of a call for which no member was available.
func (e *Error) explainNobody(addrs []string) {
	who := strings.Join(addrs[:min(len(addrs), mostNamed)], ", ")
	if more := len(addrs) - mostNamed; more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	why := plain(e.message)
	switch {
	case strings.Contains(why, "status=NOT_SERVING"):
		e.message = "no member can serve this now (tried: " + who + "); see \"snowraft status\""
	case e.code == codes.DeadlineExceeded:
		e.message = "no member could be reached in time (tried: " + who + "); check the addresses, and that members run there"
	default:
		e.message = "no member can be reached (tried: " + who + "): " + why
	}
}

// plain returns the part of a gRPC message that is useful to users.
func plain(message string) string {
	message = rpc.Network(message)
	if _, said, ok := strings.Cut(message, "health check RPC error: rpc error: code = "); ok {
		if _, said, ok = strings.Cut(said, " desc = "); ok {
			message = said
		}
	}
	switch {
	case strings.Contains(message, "looked like an HTTP/1.1 header"):
		return "the port speaks HTTP/1.1; use the port for gRPC, 7700 by default"
	case strings.Contains(message, "first record does not look like a TLS handshake"):
		return rpc.ErrNoTLS.Error()
	case strings.Contains(message, "error reading server preface: EOF"):
		return "the connection was closed at once; a TLS port needs a token, a CA or credentials"
	case foreign(message):
		message, _, _ = strings.Cut(strings.TrimPrefix(message, foreignStatus), ";")
		return "not a Snowraft member (possibly a proxy): " + message
	}
	return message
}

const foreignStatus = "unexpected HTTP status code received from server: "

// foreign reports whether a gRPC message is about an answer that does not come from a gRPC server.
func foreign(message string) bool {
	return strings.Contains(message, foreignStatus) || strings.Contains(message, "missing HTTP content-type") ||
		strings.Contains(message, "received unexpected content-type")
}
