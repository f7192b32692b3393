package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// share divides b.N operations among callers.
func share(b *testing.B, callers int, do func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "IDs/s")
}

// BenchmarkCoalesced measures the cost of a coalesced caller without the call.
func BenchmarkCoalesced(b *testing.B) {
	for _, callers := range []int{1, 64, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c := coalescer[uint64]{timeout: limits.CallTimeout, hooks: &Hooks{}, fetch: func(context.Context, uint64, int64) (uint64, error) { return 0, nil }}
			share(b, callers, func() error { _, _, err := c.do(b.Context(), 1, 0); return err })
		})
	}
}

// BenchmarkNext measures single IDs over loopback from a server in the same process that does nothing: with one call
// per ID, and through the client.
func BenchmarkNext(b *testing.B) {
	f := startFakesOnTCP(b, 1)
	conn, err := grpc.NewClient("passthrough:///"+f.members[0].addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	plain := snowraftv1.NewIdServiceClient(conn)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("unary/callers=%d", callers), func(b *testing.B) {
			share(b, callers, func() error {
				_, err := plain.GenerateIds(b.Context(), &snowraftv1.GenerateIdsRequest{Count: 1})
				return err
			})
		})
	}
	for _, callers := range []int{1, 64, 1000} {
		var calls atomic.Int64
		c := f.client(f.addrs(), WithHooks(Hooks{Batch: func(BatchInfo) { calls.Add(1) }}))
		b.Run(fmt.Sprintf("client/callers=%d", callers), func(b *testing.B) {
			calls.Store(0)
			share(b, callers, func() error { _, err := c.NextID(b.Context()); return err })
			b.ReportMetric(float64(b.N)/float64(max(calls.Load(), 1)), "IDs/call")
		})
	}
}
