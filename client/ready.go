package client

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
)

// readyPause is the time between two checks of a generator's lanes while a caller waits for them.
const readyPause = 10 * time.Millisecond

// Ready returns nil if there is a connection to a member that can issue IDs now. Otherwise, it returns an error that
// matches ErrUnavailable or ErrClosed. It starts connecting if necessary, and does not wait for the connection.
func (c *Client) Ready() error {
	_, err := c.state()
	return err
}

// WaitReady waits until Ready returns nil. It waits until ctx is done or, if ctx has no deadline, for at most the
// client's timeout. It fails at once after Close.
func (c *Client) WaitReady(ctx context.Context) error {
	ctx, cancel := bounded(ctx, c.opts.timeout)
	defer cancel()
	for {
		state, err := c.state()
		if err == nil || lasting(err) {
			return err
		}
		if !c.ids.WaitForStateChange(ctx, state) {
			return unready(ctx, err)
		}
	}
}

func (c *Client) state() (connectivity.State, error) {
	c.members.start()
	c.ids.Connect()
	switch state := c.ids.GetState(); state {
	case connectivity.Ready:
		return state, nil
	case connectivity.Shutdown:
		return state, ErrClosed
	default:
		return state, &Error{code: codes.Unavailable, message: "not connected to a member that can issue IDs"}
	}
}

// Ready returns nil if the buffer has IDs. Otherwise, it returns the error with which Next fails under
// [WithBufferNoWait]. It takes no ID.
func (b *Buffer) Ready() error {
	if b.life.Err() == nil && b.Stats().Level > 0 {
		return nil
	}
	return b.gap()
}

// WaitReady waits until the buffer has IDs. It waits and fails as Next does without [WithBufferNoWait].
func (b *Buffer) WaitReady(ctx context.Context) error {
	return b.wait(ctx, func() bool { return b.Stats().Level > 0 })
}

// Ready returns nil if the generator could issue an ID within a tick. Otherwise, it returns the reason. It takes no ID.
func (g *Generator) Ready() error {
	i := g.issuer.Load()
	if i == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.missing()
	}
	if err := i.Ready(); err != nil {
		return g.failure(err)
	}
	return nil
}

// WaitReady waits until Ready returns nil. It waits until ctx is done or, if ctx has no deadline, for at most the
// client's timeout. It also waits with [WithGeneratorNoWait] and while a clock is off. It fails at once if waiting does
// not help, such as after Close and with ErrUnknownLayout, ErrTimeExhausted or ErrPermissionDenied.
func (g *Generator) WaitReady(ctx context.Context) error {
	ctx, cancel := bounded(ctx, g.client.opts.timeout)
	defer cancel()
	for {
		err := g.Ready()
		if err == nil || lasting(err) {
			return err
		}
		if !wait(ctx, readyPause, nil) {
			return unready(ctx, err)
		}
	}
}

// unready returns the error of a caller whose context ended while it waited; reason is the last error of Ready.
func unready(ctx context.Context, reason error) error {
	last, _ := errors.AsType[*Error](reason)
	return interrupted(ctx.Err(), last)
}

// lasting reports whether waiting does not resolve a problem.
func lasting(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrUnknownLayout) || errors.Is(err, ErrTimeExhausted) || errors.Is(err, ErrInvalidArgument) ||
		denied(err)
}

// denied reports whether a member refused the token of the client, or the client has none.
func denied(err error) bool {
	return errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrPermissionDenied)
}
