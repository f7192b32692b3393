package redis

import (
	"context"
	"errors"

	"github.com/tidwall/redcon"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// retry is the prefix of errors that pass: Redis says LOADING while it starts,
// and it is the one prefix that client libraries with and without a cluster in
// mind take for a reason to try again. See docs/redis.md.
const retry = "LOADING "

// errorText is a Backend's error as Redis would tell it.
func errorText(err error) string {
	e := rpc.FromError(err)
	message := e.Message
	if message == "" {
		message = "the member gave no reason"
	}
	if e.Reason == rpc.CommitUnknown {
		return retry + message + "; trying again may skip numbers and never repeats one"
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return retry + message
	}
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return retry + message
	}
	if e.RetryAfter > 0 {
		return retry + message
	}
	return "ERR " + message
}

// refuse answers with an error. The commands before it are answered already, as
// only INCR and INCRBY wait, and they call servePending before they refuse.
func (c *conn) refuse(message string) {
	c.servePending()
	c.out = redcon.AppendError(c.out, message)
}
