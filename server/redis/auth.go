package redis

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// exempt reports whether a command is served for every caller.
func (cmd *command) exempt() bool {
	switch cmd.name {
	case "auth", "hello", "quit", "reset":
		return true
	}
	return false
}

// admits returns an error unless the caller may send a command. It leaves commands about a sequence or a layout to the
// Backend.
func (c *conn) admits(cmd *command) error {
	if cmd != nil && (cmd.judged || cmd.exempt()) {
		return nil
	}
	if err := c.caller.Authorize(trust.RightAny, ""); err != nil {
		return rpc.NewError(rpc.Unauthenticated, err.Error())
	}
	return nil
}

// context returns the context for the Backend's calls of this connection. It holds the caller and the caller's address.
func (c *conn) context() context.Context {
	call := c.s.call.Load()
	if c.callOf != call || c.calledAs != c.caller {
		c.callOf, c.calledAs = call, c.caller
		c.callContext = trust.WithAddress(c.s.contextOf(c.caller), c.net.RemoteAddr().String())
	}
	return c.callContext
}

// login makes the principal of a token the caller, or answers with the reason for a refusal.
func (c *conn) login(token string) (ok bool) {
	p, err := c.s.cfg.Authenticate(c.context(), token)
	var denied *trust.Denied
	switch {
	case errors.As(err, &denied):
		c.say(wrongPassword + reasonIfProved(denied))
		refused := rpc.NewError(rpc.Unauthenticated, "")
		refused.Cause = denied
		c.why = refused
		return false
	case err == nil && p.IsAnonymous():
		c.refuse(wrongPassword)
		return false
	case err != nil:
		c.fail(err)
		return false
	}
	if !c.keepSlot(p) {
		const text = "max number of clients with this token reached"
		c.say("ERR " + text)
		c.why = rpc.NewError(rpc.Overloaded, text)
		c.closing = true
		return false
	}
	c.caller = p
	return true
}

// reasonIfProved returns the reason for the refusal of a token, for a caller that has its whole text; empty for other callers.
func reasonIfProved(denied *trust.Denied) string {
	if denied.Fault != trust.FaultExpired && denied.Fault != trust.FaultDisabled {
		return ""
	}
	return " The " + denied.Detail + "."
}

// logout makes the caller anonymous.
func (c *conn) logout() { c.caller = c.s.anonymous }

// keepSlot keeps the connection's slot while the connection is in use; it returns false if the share of the caller is used up.
// The connection counts for its first caller until that caller has lost all rights.
func (c *conn) keepSlot(p *trust.Principal) bool {
	c.slot.Forget()
	return c.slot.Keep(p) == nil
}

// idle returns the time for which the connection has been idle; 0 while a command is served.
func (c *conn) idle() time.Duration {
	state := c.state.Load()
	if state&3 != waitsForCommand || c.w.blocked() {
		return 0
	}
	return time.Duration(c.s.beats.Load()-state>>2) * beat
}
