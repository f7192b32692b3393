package server_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A call that a member answers from memory makes at most two allocations more than a call of an empty gRPC server, with and
// without a deadline.
//
// The test counts the allocations of the whole process, including its clients, which are the same on both sides. The test is
// therefore not parallel. It takes the least of several rounds, because the member's other work only adds allocations.
func TestUnaryAllocations(t *testing.T) {
	member, bare := startCluster(t, 1)[0].server.APIAddr(), startEcho(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties gRPC's pools
	for _, tc := range []struct {
		name  string
		bound func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"without a deadline", context.WithCancel},
		{"with a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			perCall := func(address string) func() float64 {
				ids := snowraftv1.NewIdServiceClient(dial(t, address))
				return func() float64 {
					const calls = 500
					ctx, cancel := tc.bound(t.Context())
					defer cancel()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					for range calls {
						if _, err := ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1}); err != nil {
							t.Fatal(err)
						}
					}
					runtime.ReadMemStats(&after)
					return float64(after.Mallocs-before.Mallocs) / calls
				}
			}
			ofBare, ofMember := perCall(bare), perCall(member)
			least, leastBare := math.Inf(1), math.Inf(1)
			for range 5 {
				leastBare, least = min(leastBare, ofBare()), min(least, ofMember())
			}
			const most, noise = 2, 0.5
			t.Logf("a call allocates %.2f times, %.2f at the bare server", least, leastBare)
			if least > leastBare+most+noise {
				t.Errorf("a call allocates %.2f times more than at the bare server, at most %d are allowed", least-leastBare, most)
			}
		})
	}
}

// A request on a stream makes at most two allocations more than a request to an empty gRPC server. It allocates its context
// and the parts of its answer, and nothing that the next request could reuse.
func TestStreamAllocations(t *testing.T) {
	const window = 1 << 20 // static on both sides, so that gRPC sends no pings to find one
	member, bare := startCluster(t, 1)[0].server.APIAddr(), startEcho(t, grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties gRPC's pools
	perRequest := func(address string) func() float64 {
		conn := dial(t, address, grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window))
		stream, err := snowraftv1.NewIdServiceClient(conn).StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		req, resp := &snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 1}}, new(snowraftv1.StreamIdsResponse)
		return func() float64 {
			const requests = 500
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range requests {
				req.Id++
				if err := stream.Send(req); err != nil {
					t.Fatal(err)
				}
				if err := stream.RecvMsg(resp); err != nil || resp.GetId() != req.GetId() || resp.GetResponse() == nil {
					t.Fatal(resp, err)
				}
			}
			runtime.ReadMemStats(&after)
			return float64(after.Mallocs-before.Mallocs) / requests
		}
	}
	ofBare, ofMember := perRequest(bare), perRequest(member)
	least, leastBare := math.Inf(1), math.Inf(1)
	for range 5 {
		leastBare, least = min(leastBare, ofBare()), min(least, ofMember())
	}
	const most, noise = 2, 0.5
	t.Logf("a request allocates %.2f times, %.2f at the bare server", least, leastBare)
	if least > leastBare+most+noise {
		t.Errorf("a request allocates %.2f times more than at the bare server, want at most %d", least-leastBare, most)
	}
}
