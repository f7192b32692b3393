package redis

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/trust"
)

// numbers are numbers of a sequence: first, first+increment, and so on.
type numbers struct{ first, increment int64 }

// Part implements share.Divisible.
func (n numbers) Part(skip, _ uint64) numbers {
	return numbers{n.first + int64(skip)*n.increment, n.increment} //nolint:gosec // at most limits.Count
}

// newCalls returns the calls for numbers that connections share.
func newCalls(s *Server) *share.Calls[numbers] {
	never := func(error) bool { return false } // a connection repeats a failed call where that helps
	calls := share.New(limits.Count, callTimeout, never, func(_ context.Context, key share.Key, count uint64) (n numbers, err error) {
		defer func() {
			if recover() != nil {
				err = errPanic // each connection then makes its own call and reports the panic
			}
		}()
		ctx := *s.call.Load() // ends when the server closes
		if caller, ok := key.Principal.(*trust.Principal); ok && caller != nil {
			ctx = trust.WithPrincipal(ctx, caller)
		}
		n.first, n.increment, err = s.cfg.Backend.Next(ctx, key.Sequence, count)
		return n, err
	})
	calls.Gather()
	return calls
}

var errPanic = errors.New("backend call panicked")

// share hands the pending commands, with c.serving, to a call that connections share. It returns false if their numbers are in
// memory or not of one key, or if the client is gone.
func (c *conn) share() (ok bool) {
	if c.tryPending() || len(c.pending.groups) != 1 || c.w.wait() != nil { // the call does not wait for the client
		return false
	}
	g := &c.pending.groups[0]
	c.s.calls.Start(share.Key{Sequence: g.key, Principal: c.caller}, g.count, c)
	return true
}

// Answered implements share.Caller.
func (c *conn) Answered(n numbers, err error) {
	g := &c.pending.groups[0]
	g.next, g.increment, g.err, g.asked = n.first, n.increment, err, !repeatable(err)
	if err != nil {
		go c.finish() // may call the Backend again
		return
	}
	c.finish()
}

// repeatable reports whether a connection's own call may get another answer than the shared call: the numbers may suffice for
// one connection, it may create the sequence, or another connection caused the error.
func repeatable(err error) bool {
	return exhausted(err) || errors.Is(err, errPanic) || err != nil && rpc.FromError(err).Reason == rpc.UnknownSequence
}

// finish answers the commands that a shared call served, and releases c.serving.
func (c *conn) finish() {
	defer c.serving.Unlock()
	defer c.survive()
	c.servePending()
	if c.flush() != nil {
		c.cut() // ends the reading goroutine
	}
	c.waitForClient()
}
