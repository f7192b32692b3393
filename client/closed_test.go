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
