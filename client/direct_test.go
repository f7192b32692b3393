package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestOneShotCallsGivenMembersInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		c := f.client(f.addrs()[:2], WithOneShot())
		next := func() {
			t.Helper()
			if _, err := c.NextID(within(t, patience)); err != nil {
				t.Error(err)
			}
		}
		want := func(asked ...int64) {
			t.Helper()
			for i, m := range f.members {
				if got := m.asked.Load(); got != asked[i] || (m.conns.all.Load() > 0) != (got > 0) {
					t.Errorf("member %d: %d calls over %d connections, want %d", i, got, m.conns.all.Load(), asked[i])
				}
			}
		}
		next()
		next()
		want(2, 0, 0)
		f.members[0].refuses(codes.Unavailable, rpc.WindowEnded, 0)
		next()
		want(3, 1, 0)
		next()
		want(3, 2, 0) // the member that answered last is called first
		if n := f.members[1].conns.all.Load(); n != 1 {
			t.Errorf("%d connections to a member, want 1", n)
		}
	})
}

func TestOneShotFailsWithOneReasonPerMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakesOnTCP(t, 1)
		f.members[0].refuses(codes.Unavailable, rpc.ClockBehind, time.Hour)
		addrs := []string{dead, f.members[0].addr, otherDead, f.members[0].addr}
		_, err := f.client(addrs, WithOneShot(), WithTimeout(time.Hour)).NextID(t.Context()) // must not last
		failed, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrClockBehind) {
			t.Fatal(err)
		}
		var tried []string
		for _, e := range failed.Each() {
			tried = append(tried, e.Member)
			wire := rpc.FromError(e)
			if refused := e.Member == addrs[1]; e.Unsent == refused || refused != (wire.Reason == rpc.ClockBehind) || !refused && wire.Message != "connection refused" {
				t.Errorf("%s: unsent is %v: %v", e.Member, e.Unsent, wire)
			}
		}
		if !slices.Equal(tried, addrs[:3]) || f.members[0].asked.Load() != 1 {
			t.Errorf("tried %v, want %v; %d calls", tried, addrs[:3], f.members[0].asked.Load())
		}
	})
}

// The failure of a member between two calls is reported, and the member is called again when it is back.
func TestOneShotConnectsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakesOnTCP(t, 0)
		addr := unused(t)
		c := f.client([]string{addr}, WithOneShot())
		for range 2 {
			if failed, ok := errors.AsType[*Error](last2(c.NextID(t.Context()))); !ok || !failed.Unsent {
				t.Errorf("the error is %v, want one of a connection", failed)
			}
		}
		f.add(addr)
		if _, err := c.NextID(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func last2(_ int64, err error) error { return err }

func TestOneShotWaitsForElection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		for _, m := range f.members {
			m.does(func(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
				if m.asked.Load() > 2 {
					return nil, &rpc.Error{Code: codes.DeadlineExceeded} // less specific than the error before
				}
				return nil, &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, RetryAfter: time.Millisecond}
			})
		}
		c := f.client(f.addrs(), WithOneShot())
		failed, ok := errors.AsType[*Error](last2(c.NextID(t.Context())))
		if !ok || !errors.Is(failed, ErrNoLeader) {
			t.Fatal(failed)
		}
		for i, e := range failed.Each() {
			if e.Reason != rpc.NoLeader || e.Member != f.members[i].addr || f.members[i].asked.Load() != 3 {
				t.Errorf("%v after %d calls", e, f.members[i].asked.Load())
			}
		}
		f.members[0].refuses(codes.Unavailable, rpc.NoLeader, 0)
		f.members[1].refuses(codes.Unavailable, rpc.NoLeader, 0)
		began := time.Now()
		if _, err := f.client(f.addrs(), WithOneShot(), WithTimeout(time.Hour)).NextID(t.Context()); !errors.Is(err, ErrNoLeader) || time.Since(began) > 2*electionTime {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Silent members, with and without a connection, leave time for the members after them.
func TestOneShotDividesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		f.members[0].hangs()
		addrs := append([]string{f.silent()}, f.addrs()...)
		began := time.Now()
		if _, err := f.client(addrs, WithOneShot(), WithTimeout(7*time.Second)).NextID(t.Context()); err != nil || time.Since(began) != connectLimit+3*time.Second {
			t.Errorf("the third member answered after %v, %v", time.Since(began), err)
		}
		const alone = 3 * time.Second // more than connectLimit
		began = time.Now()
		if _, err := f.client(addrs[:1], WithOneShot(), WithTimeout(alone)).NextID(t.Context()); err == nil || time.Since(began) != alone {
			t.Errorf("an only member had %v for its connection, %v", time.Since(began), err)
		}
		f.members[1].hangs()
		slices.Reverse(addrs)
		began = time.Now()
		const timeout = 1500 * time.Millisecond // less than electionTime
		_, err := f.client(addrs, WithOneShot(), WithTimeout(timeout)).NextID(t.Context())
		failed, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != timeout {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		if each := failed.Each(); len(each) != 3 || each[0].Unsent || each[1].Unsent || !each[2].Unsent {
			t.Errorf("%v: a call was not sent to both members that hang, or to the one without a connection", each)
		}
	})
}

func TestOneShotClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs(), WithOneShot())
		for _, want := range []error{nil, ErrClosed} {
			if _, err := c.NextID(t.Context()); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		until(t, "the connection is gone", func() bool { return f.members[0].conns.open.Load() == 0 })
	})
}
