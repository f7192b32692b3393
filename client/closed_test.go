package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// All calls of a closed client fail with ErrClosed.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.warm(c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_, unary := snowraftv1.NewClusterServiceClient(c.Conn()).ListMembers(t.Context(), new(snowraftv1.ListMembersRequest))
		_, stream := snowraftv1.NewIdServiceClient(c.Conn()).StreamIds(t.Context())
		_, number := c.Sequence("s").Next(t.Context())
		for what, err := range map[string]error{"Ready": c.Ready(), "WaitReady": c.WaitReady(t.Context()), "a call": unary, "a stream": stream, "a number": number} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A call that a member got before Close has an unknown outcome, unlike one that was never sent.
func TestClosedDuringCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		f.members[0].numbers.takes.Store(int64(time.Hour))
		for what, call := range map[string]func(*Client) error{
			"a change": func(c *Client) error { _, err := c.Sequence("s").SetNext(t.Context(), 5); return err },
			"a number": func(c *Client) error { _, err := c.Sequence("s").Next(t.Context()); return err },
		} {
			c := f.client(f.addrs())
			f.warm(c)
			asked := f.members[0].numbers.asked.Load()
			failed := make(chan error)
			go func() { failed <- call(c) }()
			until(t, "the member has the request", func() bool { return f.members[0].numbers.asked.Load() > asked })
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			err := <-failed
			e, unknown := errors.AsType[*Error](err)
			if !errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled) || !unknown || e.Unsent || e.Repeatable() || e.Member != f.members[0].addr {
				t.Errorf("%s: %#v: %v", what, err, err)
			}
			t.Log(err)
			if err := call(c); err != ErrClosed { //nolint:errorlint // an *Error also matches
				t.Errorf("%s after Close: %v", what, err)
			}
		}
	})
}

// The gRPC codes of forwarded errors distinguish a canceled caller from a passed deadline.
func TestCodesOfInterruptedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		if _, err := c.NextID(within(t, time.Nanosecond)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%v: %v", status.Code(err), err)
		}
		if _, err := c.NextID(within(t, 30*time.Millisecond)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%v: %v", status.Code(err), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		if _, err := c.NextID(ctx); status.Code(err) != codes.Canceled {
			t.Errorf("%v: %v", status.Code(err), err)
		}
	})
}
