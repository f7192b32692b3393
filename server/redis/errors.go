package redis

import (
	"cmp"
	"context"
	"errors"

	"github.com/tidwall/redcon"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// retry is the prefix of errors that pass: Redis says LOADING while it starts,
// and it is the one prefix that client libraries with and without a cluster in
// mind take for a reason to try again. See docs/redis.md.
const retry = "LOADING "

// The prefixes of what a caller may not do, by which client libraries know it.
const (
	noAuth       = "NOAUTH"
	noPermission = "NOPERM"
)

// errorText returns an error as Redis words it.
func (c *conn) errorText(err error) string {
	e := rpc.FromError(err)
	message := cmp.Or(e.Message, "the member gave no reason")
	switch r, _ := rpc.ReasonOf(e.Reason); {
	case r.Redis == noAuth && c.caller.IsAnonymous():
		return noAuth + " Authentication required. Send AUTH with an API token."
	case r.Redis == noAuth:
		return noAuth + " Authentication required. The token is no longer valid: " + message
	case r.Redis == noPermission:
		return noPermission + " " + message
	}
	passes, uncertain := judge(err)
	if uncertain {
		message += "; trying again may skip numbers and never repeats one"
	}
	if passes {
		return retry + message
	}
	return "ERR " + message
}

// judge reports whether what failed may succeed when it is tried again, and whether it may have
// been done anyway.
func judge(err error) (passes, uncertain bool) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true, true
	}
	e := rpc.FromError(err)
	if r, ok := rpc.ReasonOf(e.Reason); ok { // every command may be repeated: at worst it skips numbers
		passes = r.Repeat != rpc.RepeatNo
		return passes, passes && r.MayBeDone()
	}
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true, e.Reason == ""
	}
	return e.RetryAfter > 0, false
}

// call calls the Backend, unless another call of the same turn failed with an error that
// passes: each of a pipeline's commands would wait as long for the same.
func (c *conn) call(f func(context.Context, Backend) error) error {
	if c.failure != nil {
		return c.failure
	}
	err := f(c.context(), c.s.cfg.Backend)
	c.noteFailure(err)
	return err
}

// noteFailure lets the commands of this turn fail at once if err, which may be nil, passes.
func (c *conn) noteFailure(err error) {
	if err == nil {
		return
	}
	if passes, _ := judge(err); passes {
		c.failure = err
	}
}

// refuse answers with an error that the client made. The commands before it are
// answered already.
func (c *conn) refuse(message string) {
	c.why = errClient
	c.say(message)
}

var errClient = rpc.NewError(rpc.InvalidArgument, "")

// fail answers with a Backend's error.
func (c *conn) fail(err error) {
	c.why = err
	c.say(c.errorText(err))
}

// say answers with an error that is not counted as one.
func (c *conn) say(message string) {
	c.out = redcon.AppendError(c.out, trust.Mask(message))
}
