package client

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A slow member holds back nobody who hedges, and no ID of the race reaches two callers.
func TestHedging(t *testing.T) {
	f := startFakes(t, 2)
	c := f.client(f.addrs(), WithHedging(20*time.Millisecond))
	f.warm(c)
	f.members[0].hangs()
	if slowest := askAll(t, c, 8, 50); slowest >= memoryPatience {
		t.Errorf("the slowest call took %v", slowest)
	}
	if f.members[0].asked.Load() == 0 {
		t.Error("the slow member was not asked")
	}
	// Both answer, at about the same time.
	for _, m := range f.members {
		m.does(slowly(m, 20*time.Millisecond))
	}
	askAll(t, c, 8, 30)
}

// That one fails does not end the race.
func TestHedgingWhileOneFails(t *testing.T) {
	f := startFakes(t, 2)
	c := f.client(f.addrs(), WithHedging(10*time.Millisecond))
	f.warm(c)
	var order atomic.Int64
	second, failed := make(chan struct{}), make(chan struct{})
	for _, m := range f.members {
		m.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			if order.Add(1) == 1 {
				<-second
				close(failed)
				return nil, status.Error(codes.Unavailable, "told so by the test")
			}
			close(second)
			<-failed
			return slowly(m, 50*time.Millisecond)(ctx, req)
		})
	}
	if _, err := c.NextID(within(t, patience)); err != nil {
		t.Error(err)
	}
	if asked := f.members[0].asked.Load() + f.members[1].asked.Load(); asked != 2 {
		t.Errorf("%d requests, expected 2", asked)
	}
}
