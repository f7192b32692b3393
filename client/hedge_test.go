package client

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A slow member delays no caller that hedges, and no ID of the race reaches two callers.
func TestHedging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs(), WithHedging(20*time.Millisecond))
		f.warm(c)
		f.members[0].hangs()
		slowest := time.Duration(0)
		until(t, "the client calls the slow member, which it chooses at random", func() bool {
			slowest = max(slowest, askAll(t, c, 8, 20))
			return f.members[0].asked.Load() > 0
		})
		if slowest != 20*time.Millisecond {
			t.Errorf("the slowest call took %v", slowest)
		}
		// Both members answer at about the same time.
		for _, m := range f.members {
			m.does(slowly(m, 20*time.Millisecond))
		}
		askAll(t, c, 8, 10)
	})
}

// The failure of one member does not end the race.
func TestHedgingWhileOneFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs(), WithHedging(10*time.Millisecond))
		f.warm(c)
		var order atomic.Int64
		for _, m := range f.members {
			m.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
				if order.Add(1) == 1 {
					time.Sleep(20 * time.Millisecond)
					return nil, status.Error(codes.Unavailable, "refused by the test")
				}
				return slowly(m, 50*time.Millisecond)(ctx, req)
			})
		}
		began := time.Now()
		if _, err := c.NextID(t.Context()); err != nil {
			t.Error(err)
		}
		asked := f.members[0].asked.Load() + f.members[1].asked.Load()
		if took := time.Since(began); asked != 2 || took != 60*time.Millisecond {
			t.Errorf("%d requests within %v, want 2 within 60 ms", asked, took)
		}
	})
}

// Hooks get the member that lost a race, and only the slow member can be suspected.
func TestHedgedTriesNameTheirMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		type seen struct {
			member string
			err    error
		}
		tries := make(chan seen, 1000)
		c := f.client(f.addrs(), WithHedging(10*time.Millisecond), WithHooks(Hooks{Try: func(try TryInfo) {
			if try.Method == snowraftv1.IdService_GenerateIds_FullMethodName {
				tries <- seen{try.Member, try.Err}
			}
		}}))
		f.warm(c)
		for len(tries) > 0 {
			<-tries
		}
		slow := f.members[0]
		slow.hangs()
		for slow.asked.Load() == 0 {
			askAll(t, c, 1, 1)
		}
		for {
			if s := <-tries; s.err != nil {
				if s.member != slow.addr || status.Code(s.err) != codes.Canceled {
					t.Errorf("%v at %s, want the slow member %s", s.err, s.member, slow.addr)
				}
				return
			}
		}
	})
}

// A caller's options may point to its memory. No try may write to it after the call.
func TestOptionsOfHedgedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs(), WithHedging(time.Millisecond))
		f.warm(c)
		for _, m := range f.members {
			m.does(slowly(m, 2*time.Millisecond))
		}
		ids := snowraftv1.NewIdServiceClient(c.Conn())
		req := new(snowraftv1.GenerateIdsRequest)
		for n := range uint32(100) {
			var trailer metadata.MD
			req.Count = 1 + n%3
			if resp, err := ids.GenerateIds(t.Context(), req, grpc.Trailer(&trailer)); err != nil || resp == nil {
				t.Fatal(err)
			}
			trailer = nil
		}
	})
}
