package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A problem that prevents one member from issuing IDs fails no call and costs no time.
func TestAnotherMemberIsCalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, refusal := range []struct {
			code   codes.Code
			reason string
		}{
			{codes.Unavailable, rpc.ClockSkew}, {codes.Unavailable, rpc.ClockBehind}, {codes.Unavailable, rpc.WindowEnded},
			{codes.Unavailable, rpc.NoLeader}, {codes.Unavailable, rpc.ShuttingDown}, {codes.ResourceExhausted, rpc.WorkersExhausted},
			{codes.ResourceExhausted, rpc.Overloaded}, {codes.Unknown, rpc.CommitUnknown}, {codes.Unavailable, ""},
		} {
			f := startFakes(t, 3)
			c := f.client(f.addrs())
			f.warm(c)
			f.members[0].refuses(refusal.code, refusal.reason, time.Hour)
			until(t, "the client calls the member, which it chooses at random", func() bool {
				if slowest := askAll(t, c, 4, 20); slowest != 0 {
					t.Errorf("%v %s: a call took %v", refusal.code, refusal.reason, slowest)
				}
				return f.members[0].asked.Load() > 0
			})
		}
	})
}

// A refusal that every member would return ends the call at once. The error names the member that refused.
func TestFinalRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		c := f.client(f.addrs())
		for _, m := range f.members {
			m.refuses(codes.NotFound, rpc.UnknownLayout, 0)
		}
		_, err := c.IDs("nope").Next(t.Context())
		var e *Error
		if !errors.Is(err, ErrUnknownLayout) || !errors.As(err, &e) || e.Member == "" || errors.Is(err, ErrUnavailable) {
			t.Errorf("%#v", err)
		}
		asked := int64(0)
		for _, m := range f.members {
			asked += m.asked.Load()
		}
		if asked != 1 {
			t.Errorf("%d members were called", asked)
		}
		if _, err := c.IDs("").Ranges(t.Context(), 0); !errors.Is(err, ErrInvalidArgument) {
			t.Error(err)
		}
	})
}

// If all members refuse, the error contains the error of each member and that of the deadline.
func TestAllMembersRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		c := f.client(f.addrs())
		f.warm(c)
		for _, m := range f.members {
			m.refuses(codes.Unavailable, rpc.ClockSkew, 50*time.Millisecond)
		}
		began := time.Now()
		_, err := c.NextID(within(t, 3*time.Second))
		if took := time.Since(began); !errors.Is(err, ErrClockSkew) || !errors.Is(err, context.DeadlineExceeded) || took < 150*time.Millisecond || took > 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		for _, m := range f.members {
			if !strings.Contains(err.Error(), m.addr) {
				t.Errorf("%q does not name %s", err, m.addr)
			}
		}
		t.Log(err)
		// Calls succeed as soon as one member issues again.
		time.AfterFunc(100*time.Millisecond, func() { f.members[1].does(nil) })
		if _, err := c.NextID(within(t, patience)); err != nil {
			t.Error(err)
		}
		// If no worker is free for minutes, the call fails at once.
		for _, m := range f.members {
			m.refuses(codes.ResourceExhausted, rpc.WorkersExhausted, time.Hour)
		}
		began = time.Now()
		_, err = c.NextID(within(t, patience))
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrWorkersExhausted) || e.RetryAfter != time.Hour || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// The reason of a member is kept if other members, or the same member, do not answer later.
func TestReasonsAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.warm(c)
		m := f.members[0]
		m.does(func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			if m.asked.Load() > 1 {
				m.hangs()
			}
			return nil, &rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, Message: "refused by the test"}
		})
		endsWithWindow(t, c)
	})
}

// endsWithWindow requests an ID. The request must end at its deadline, with the reason ErrWindowEnded.
func endsWithWindow(t *testing.T, c *Client) {
	t.Helper()
	if _, err := c.NextID(within(t, time.Second)); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrWindowEnded) {
		t.Fatal(err)
	}
}

// If all members report that they cannot issue, the client calls them anyway, because they return the reason.
func TestUnhealthyMembersReturnReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs())
		f.warm(c)
		for _, m := range f.members {
			m.refuses(codes.Unavailable, rpc.WindowEnded, 50*time.Millisecond)
			m.serving(false)
		}
		endsWithWindow(t, c)
		f.members[1].does(nil) // this member can still issue IDs of this layout
		if _, err := c.NextID(within(t, patience)); err != nil {
			t.Error(err)
		}
		// A healthy member gets all calls.
		f.members[0].does(nil)
		f.members[0].serving(true)
		until(t, "only the healthy member is called", func() bool {
			before := f.members[1].asked.Load()
			askAll(t, c, 1, 20)
			return f.members[1].asked.Load() == before
		})
	})
}

// The client rejects an answer that no member would give, and does not retry.
func TestMalformedAnswerIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.members[0].does(func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{nil}}, nil
		})
		_, err := c.NextID(t.Context())
		var e *Error
		if !errors.As(err, &e) || f.members[0].asked.Load() != 1 {
			t.Errorf("%v after %d calls", err, f.members[0].asked.Load())
		}
		t.Log(err)
	})
}
