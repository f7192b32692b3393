package client_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// BenchmarkSequenceNext measures single numbers for many callers, from three members in this process. For comparison,
// "empty" is a call that does nothing.
func BenchmarkSequenceNext(b *testing.B) {
	c := startNumberCluster(b, 3)
	c.create(&snowraftv1.Sequence{Name: "strict", Mode: strict})
	c.create(&snowraftv1.Sequence{Name: "relaxed", Mode: relaxed})
	cl := c.client()
	conn, err := grpc.NewClient(c.addrs[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	empty := healthv1.NewHealthClient(conn)
	next := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := cl.Sequence(name).Next(ctx)
			return err
		}
	}
	for _, of := range []struct {
		name    string
		callers int
		call    func(context.Context) error
	}{
		{"empty", 64, func(ctx context.Context) error {
			_, err := empty.Check(ctx, &healthv1.HealthCheckRequest{})
			return err
		}},
		{"strict", 1, next("strict")},
		{"strict", 1000, next("strict")},
		{"relaxed", 1000, next("relaxed")},
	} {
		b.Run(fmt.Sprintf("%s/callers=%d", of.name, of.callers), func(b *testing.B) {
			b.ReportAllocs()
			var all sync.WaitGroup
			for k := range of.callers {
				all.Go(func() {
					for range (b.N + k) / of.callers {
						if err := of.call(b.Context()); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}
