package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// A member that accepts requests and does not answer delays one call, and later calls hardly at all.
func TestHangingMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		if slowest := askAll(t, c, 8, 100); slowest < memoryTimeout || slowest > idTimeout {
			t.Errorf("the slowest call took %v", slowest)
		}
		hung := f.members[0].asked.Load()
		if slowest := askAll(t, c, 8, 100); slowest != 0 || f.members[0].asked.Load() != hung {
			t.Errorf("the slowest call took %v; the member got %d calls", slowest, f.members[0].asked.Load())
		}
	})
}

// There is time for another member even if the deadline is shorter than the time limit of a try.
func TestShortDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const deadline = memoryTimeout / 5
		f := startFakes(t, 2)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		until(t, "the client calls the member that hangs, which it chooses at random", func() bool {
			if _, err := c.NextID(within(t, deadline)); err != nil {
				t.Error(err)
			}
			return f.members[0].asked.Load() > 0
		})
		f.members[1].hangs()
		began := time.Now()
		_, err := c.NextID(within(t, time.Second))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		t.Log(err)
	})
}

// If all members are suspected, the members that answer are trusted again.
func TestSuspicionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		if _, err := c.NextID(within(t, 3*memorySuspicious)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		standing := c.ids.caller.standing
		until(t, "the member is suspected", func() bool { return standing.isSuspect(f.members[0].addr) })
		f.members[0].does(nil)
		askAll(t, c, 1, 1)
		if standing.isSuspect(f.members[0].addr) {
			t.Error("the member is still suspected")
		}
	})
}

func (s *standing) isSuspect(addr string) bool {
	objection, _ := s.objection(addr)
	return objection == suspected
}

func TestNoMemberReachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 0)
		addrs := []string{dead, otherDead}
		c := f.client(addrs)
		_, err := c.NextID(within(t, time.Second))
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%#v", err)
		}
		for _, addr := range addrs {
			if !strings.Contains(err.Error(), addr) {
				t.Errorf("%q does not name %s", err, addr)
			}
		}
		if text := err.Error(); !strings.Contains(text, "connection refused") || strings.Contains(text, "desc") || len(text) > 250 {
			t.Errorf("%q", text)
		}
		t.Log(err)
		// The client finds the member when it starts.
		f.add(addrs[0])
		if _, err := c.NextID(within(t, patience)); err != nil {
			t.Error(err)
		}
	})
}

// A canceled call fails with the error of its context, and a call of a closed client with ErrClosed, whatever the members do.
func TestInterruptedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs())
		f.warm(c)
		for _, m := range f.members {
			m.hangs()
		}
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		ids := c.IDs("")
		all := []func(context.Context) error{
			func(ctx context.Context) error { _, err := ids.Next(ctx); return err },
			func(ctx context.Context) error { _, err := ids.Ranges(ctx, maxShared+1); return err },
			func(ctx context.Context) error { _, err := ids.Session(1).Next(ctx); return err },
			func(ctx context.Context) error { _, err := ids.Session(1<<60).Append(ctx, nil, 2); return err },
		}
		start := func(ctx context.Context) {
			before := f.members[0].asked.Load() + f.members[1].asked.Load()
			for _, call := range all {
				go func() { errs <- call(ctx) }()
			}
			until(t, "the calls are in progress", func() bool {
				return f.members[0].asked.Load()+f.members[1].asked.Load() >= before+int64(len(all))
			})
		}
		start(ctx)
		cancel()
		for range all {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		start(t.Context())
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range all {
			if err := <-errs; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		for _, call := range all {
			if err := call(t.Context()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		for _, m := range f.members {
			until(t, "the connections are gone", func() bool { return m.conns.open.Load() == 0 })
		}
	})
}

// A member that hangs gets no more calls than an answering member has in progress, so it delays few calls.
func TestHangingMemberGetsFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		const callers = 8
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range 100 {
					if _, err := c.IDs("").Ranges(t.Context(), maxShared+1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if asked := f.members[0].asked.Load(); asked == 0 || asked > callers/2 {
			t.Errorf("the hanging member got %d calls", asked)
		}
	})
}

// A request for many IDs also finds another member, if its time is long for that number of IDs.
func TestLargeRequestsAtHangingMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs())
		f.warm(c)
		f.members[0].hangs()
		for range 2 {
			if _, err := c.IDs("").Ranges(within(t, 5*time.Second), quickCount+1); err != nil {
				t.Error(err)
			}
		}
	})
}

// A refusal is an answer too.
func TestRefusingMembersAreTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		f.warm(c)
		standing := c.ids.caller.standing
		standing.suspect(f.members[0].addr)
		f.members[0].refuses(codes.NotFound, rpc.UnknownLayout, 0)
		if _, err := c.NextID(within(t, patience)); !errors.Is(err, ErrUnknownLayout) {
			t.Error(err)
		}
		if standing.isSuspect(f.members[0].addr) {
			t.Error("the member is still suspected")
		}
	})
}
