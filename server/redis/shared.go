package redis

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	clients "github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// newCalls returns the calls for numbers that connections share.
func newCalls(s *Server) *share.Calls[Numbers] {
	never := func(error) bool { return false } // a connection repeats a failed call where that helps
	calls := share.New(limits.Texts, 0, never, func(_ context.Context, key share.Key, count uint64) (n Numbers, err error) {
		defer func() {
			if recover() != nil {
				err = errPanic // each connection then makes its own call and reports the panic
			}
		}()
		caller, _ := key.Principal.(*trust.Principal)
		return s.cfg.Backend.Next(s.contextOf(caller), key.Sequence, count)
	})
	calls.Gather()
	return calls
}

var errPanic = errors.New("backend call panicked")

// share hands the pending commands, with c.serving, to a call that connections share. It returns false if their numbers are in
// memory or not of one key, or if an earlier command of the input failed. It returns an error if the client is gone.
func (c *conn) share() (ok bool, err error) {
	if c.tryPending() || c.failure != nil || len(c.pending.groups) != 1 {
		return false, nil //nolint:nilerr // the failure is the answer to the pending commands
	}
	if err := c.w.wait(); err != nil { // before the call, which does not wait for the client
		return false, err
	}
	g := &c.pending.groups[0]
	c.s.calls.Start(share.Key{Sequence: g.key, Principal: c.caller}, g.count, c)
	return true, nil
}

// Answered implements share.Caller.
func (c *conn) Answered(n Numbers, err error) {
	g := &c.pending.groups[0]
	g.Numbers, g.err, g.asked = n, err, !repeatable(err)
	if repeatable(err) {
		go c.finish() // calls the Backend again
		return
	}
	c.finish()
}

// repeatable reports whether a connection's own call may get another answer than the shared call: the numbers or the rate of the
// token may suffice for one connection, it may create the sequence, or another connection caused the error.
func repeatable(err error) bool {
	if err == nil {
		return false
	}
	reason := rpc.FromError(err).Reason
	return exhausted(err) || errors.Is(err, errPanic) || reason == rpc.UnknownSequence || reason == rpc.RateLimited
}

// finish answers the commands that a shared call served, and releases c.serving.
func (c *conn) finish() {
	defer c.serving.Unlock()
	defer c.survive()
	c.servePending()
	if c.flush() != nil {
		c.closing = true
		clients.Cut(c.net) // ends the reading goroutine
	}
	c.waitForClient()
}
