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

// retry is the prefix of transient errors. Redis answers LOADING while it starts. It is the only prefix on which client
// libraries retry both with and without cluster mode. See docs/redis.md.
const retry = "LOADING "

// Prefixes of authorization errors, known to client libraries.
const (
	noAuth       = "NOAUTH"
	noPermission = "NOPERM"
)

// errorText returns an error in the form of Redis.
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

// judge reports whether a failed command may succeed when it is retried, and whether the failed command may have taken
// effect.
func judge(err error) (passes, uncertain bool) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true, true
	}
	e := rpc.FromError(err)
	if r, ok := rpc.ReasonOf(e.Reason); ok { // every command may be repeated; a repetition skips numbers at worst
		passes = r.Repeat != rpc.RepeatNo
		return passes, passes && r.MayBeDone()
	}
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true, e.Reason == ""
	}
	return e.RetryAfter > 0, false
}

// call calls the Backend, unless an earlier call of this input failed with a transient error. Each further command of the
// pipeline would otherwise wait just as long for the same error.
func (c *conn) call(f func(context.Context, Backend) error) error {
	if c.failure != nil {
		return c.failure
	}
	err := f(c.context(), c.s.cfg.Backend)
	c.noteFailure(err)
	return err
}

// noteFailure makes the remaining commands of this input fail at once if err is transient; err may be nil.
func (c *conn) noteFailure(err error) {
	if err == nil {
		return
	}
	if passes, _ := judge(err); passes {
		c.failure = err
	}
}

// refuse answers with an error that the client caused. The commands before it are already answered.
func (c *conn) refuse(message string) {
	c.why = errClient
	c.say(message)
}

var errClient = rpc.NewError(rpc.InvalidArgument, "")

// fail answers with an error of the Backend.
func (c *conn) fail(err error) {
	c.why = err
	c.say(c.errorText(err))
}

// say answers with an error that does not count as a failed command.
func (c *conn) say(message string) {
	c.out = redcon.AppendError(c.out, trust.Mask(message))
}
