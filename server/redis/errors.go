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
	if uncertain(err) {
		message += "; trying again may skip numbers and never repeats one"
	}
	if passes(err) {
		return retry + message
	}
	return "ERR " + message
}

// uncertain reports whether what failed, and passes, may have been done all the same.
func uncertain(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	e := rpc.FromError(err)
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return e.Reason == "" || e.Reason == rpc.CommitUnknown
	}
	return e.Reason == rpc.CommitUnknown
}

// passes reports whether what failed may succeed when it is tried again.
func passes(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	e := rpc.FromError(err)
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted:
		return true
	}
	return e.Reason == rpc.CommitUnknown || e.RetryAfter > 0
}

// call calls the Backend, unless another call of the same turn failed with an error that
// passes: each of a pipeline's commands would wait as long for the same.
func (c *conn) call(f func(context.Context, Backend) error) error {
	if c.failure != nil {
		return c.failure
	}
	err := f(c.s.calls.context(), c.s.cfg.Backend)
	if err != nil && passes(err) {
		c.failure = err
	}
	return err
}

// refuse answers with an error that the client made. The commands before it are
// answered already.
func (c *conn) refuse(message string) {
	c.s.cfg.Refused(errClient)
	c.say(message)
}

var errClient = &rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument}

// fail answers with a Backend's error.
func (c *conn) fail(err error) {
	c.s.cfg.Refused(err)
	c.say(errorText(err))
}

// say answers with an error that is not counted.
func (c *conn) say(message string) {
	c.out = redcon.AppendError(c.out, message)
}
