package client

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestStreamCarriesRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		before, carried := f.members[0].asked.Load(), f.members[0].carried.Load()
		askAll(t, c, 50, 50)
		if asked, on := f.members[0].asked.Load()-before, f.members[0].carried.Load()-carried; asked != on {
			t.Errorf("the stream carried %d of %d requests", on, asked)
		}
		if n := f.members[0].carriers.opened(); n != 1 {
			t.Errorf("%d streams, want 1", n)
		}
	})
}

// An error ends its request and not the stream. If another member may help, the caller notices nothing.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 2)
		bad := f.members[0]
		for _, test := range []struct {
			code   codes.Code
			reason string
			want   error
		}{
			{codes.NotFound, rpc.UnknownLayout, ErrUnknownLayout},
			{codes.Unauthenticated, rpc.Unauthenticated, ErrUnauthenticated},
			{codes.Unavailable, rpc.ClockSkew, nil},
			{codes.Unavailable, rpc.WindowEnded, nil},
			{codes.Unavailable, rpc.ShuttingDown, nil},
			{codes.ResourceExhausted, rpc.Overloaded, nil},
		} {
			use(t, c, bad)
			bad.refuses(test.code, test.reason, 0)
			if _, err := c.NextID(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.reason, err, test.want)
			}
			if test.want == nil { // the member rests
				asked := bad.asked.Load()
				askAll(t, c, 1, 80)
				if n := bad.asked.Load() - asked; n != 0 {
					t.Errorf("%s: %d further requests", test.reason, n)
				}
			}
		}
		if n := bad.carriers.opened(); n != 1 {
			t.Errorf("%d streams, want 1", n)
		}
	})
}

// A member that does not answer delays its callers for the patience; then another member answers.
func TestStreamOfSilentMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 3)
		use(t, c, f.members[0])
		f.members[0].hangs()
		if slowest := askAll(t, c, 20, 1); slowest < memoryTimeout || slowest > idTimeout {
			t.Errorf("the slowest call took %v", slowest)
		}
		asked := f.members[0].asked.Load()
		if slowest := askAll(t, c, 20, 20); slowest != 0 || f.members[0].asked.Load() != asked {
			t.Errorf("afterwards the slowest call took %v; the member got %d requests", slowest, f.members[0].asked.Load()-asked)
		}
	})
}

// The answer to a request whose caller has left reaches no other caller.
func TestStreamCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		m := f.members[0]
		release := make(chan struct{})
		free := sync.OnceFunc(func() { close(release) })
		defer free()
		m.does(func(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			<-release // the member issues the IDs although its caller has left
			return m.issue(req), nil
		})
		asked := m.asked.Load()
		until(t, "the member has a request", func() bool {
			if _, err := c.NextID(within(t, 20*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v before the answer", err)
			}
			return m.asked.Load() > asked
		})
		asked = m.asked.Load()
		var others sync.WaitGroup
		others.Go(func() { askAll(t, c, 20, 2) }) // fails the test if an ID comes twice
		until(t, "others wait too", func() bool { return m.asked.Load() > asked })
		free()
		others.Wait()
		m.does(nil)
		askAll(t, c, 10, 100)
		untilAnswered(t, c, m)
	})
}

// Members without streams, and members that read nothing from their streams, delay no caller.
func TestMissingStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		askAll(t, f.client(f.addrs()), 20, 20)
		if n := f.members[0].carried.Load(); n != 0 {
			t.Errorf("%d requests on streams", n)
		}
		deaf := startFakes(t, 1)
		deaf.members[0].streams.Store(true)
		deaf.members[0].deaf.Store(true)
		c := deaf.client(deaf.addrs(), WithHedging(time.Millisecond))
		until(t, "the stream is open", func() bool {
			askAll(t, c, 1, 1)
			return chooses(c.idStreams)
		})
		// There are many more requests than fit: a Send that blocked would block all callers.
		if slowest := askAll(t, c, 64, 200); slowest > 10*time.Millisecond {
			t.Errorf("the slowest call took %v", slowest)
		}
		askAll(t, c, 4, 4)
	})
}

// A slow member gets few requests while others are fast.
func TestStreamOfSlowMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 3)
		slow := f.members[0]
		for _, m := range f.members {
			m.does(slowly(m, time.Millisecond))
		}
		slow.does(slowly(slow, 60*time.Millisecond))
		use(t, c, slow)
		asked := slow.asked.Load()
		all := f.members[1].asked.Load() + f.members[2].asked.Load()
		for began := time.Now(); time.Since(began) < 700*time.Millisecond; {
			askAll(t, c, 16, 1)
		}
		all = f.members[1].asked.Load() + f.members[2].asked.Load() - all
		if n := slow.asked.Load() - asked; n < 1 || n > 5+all/10 { // a few requests are sent before the first one is overdue
			t.Errorf("%d requests to the slow member, %d to the other members", n, all)
		}
	})
}

// Over time, all members get the same number of requests.
func TestStreamsAreBalanced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 3)
		before := make([]int64, 3)
		for i, m := range f.members {
			before[i] = m.carried.Load()
		}
		for range 60 {
			askAll(t, c, 1, 5)
			c.idStreams.mu.Lock()
			c.idStreams.chosen = c.idStreams.chosen.Add(-sameMember)
			c.idStreams.mu.Unlock()
		}
		for i, m := range f.members {
			if n := m.carried.Load() - before[i]; n < 25 { // 100 on average; fewer than 5 turns of 60 come once in 10^5 runs
				t.Errorf("member %d has %d of 300 requests", i, n)
			}
		}
	})
}

// While numbers are in use, the client learns of a new leader: a transfer of leadership breaks no connection.
func TestStreamsFollowLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		c.members.begin.Do(func() {}) // requests for the membership stay in the queue
		for i, test := range []struct {
			streams *streams
			passed  time.Duration
			asks    int
		}{{c.numberStreams, 0, 1}, {c.numberStreams, lookEvery / 2, 0}, {c.numberStreams, lookEvery, 1}, {c.idStreams, lookEvery, 0}} {
			test.streams.mu.Lock()
			test.streams.asked = test.streams.asked.Add(-test.passed)
			test.streams.mu.Unlock()
			test.streams.choose()
			if n := len(c.members.news); n != test.asks {
				t.Errorf("%d: %d questions, want %d", i, n, test.asks)
			}
			select {
			case <-c.members.news:
			default:
			}
		}
	})
}

// The client calls a second member when a stream is slow. Each ID of both answers reaches at most one caller.
func TestStreamHedges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 2, WithHedging(10*time.Millisecond))
		slow := f.members[0]
		release := make(chan struct{})
		free := sync.OnceFunc(func() { close(release) })
		defer free()
		slow.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			select {
			case <-release:
				return slow.issue(req), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		use(t, c, slow)
		asked := slow.asked.Load()
		if slowest := askAll(t, c, 10, 1); slowest != 10*time.Millisecond {
			t.Errorf("the slowest call took %v", slowest)
		}
		if slow.asked.Load() == asked {
			t.Error("the slow member was not called")
		}
		free()
		untilAnswered(t, c, slow) // the late answers
		askAll(t, c, 10, 50)
	})
}
