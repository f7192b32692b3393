package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"

	"github.com/snowraft/snowraft/client"
)

// ready returns a generator whose lanes all have a worker.
func ready(b *testing.B, opts ...client.GeneratorOption) *client.Generator {
	b.Helper()
	hosts := startHosts(b, 1)
	if _, err := snowraftv1.NewLayoutServiceClient(hosts[0].connect()).CreateLayout(b.Context(), &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
		Name: "wide", UnitMs: 1, EpochAtMs: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		Fields: []*snowraftv1.Field{
			{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 37},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 4},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 22},
		},
	}}); err != nil {
		b.Fatal(err)
	}
	g := embed(b, newApplication(b, apis(hosts...)), opts...)
	eventually(b, "all lanes have a worker", func() bool {
		lanes := g.Lanes()
		return len(lanes) > 0 && !slices.ContainsFunc(lanes, func(l client.LaneStatus) bool { return l.Token == 0 })
	})
	return g
}

// BenchmarkGenerator measures the rate relative to the limit of the default layout: 4,096 IDs
// per millisecond and lane.
func BenchmarkGenerator(b *testing.B) {
	for _, c := range []struct{ lanes, goroutines int }{{1, 1}, {1, 8}, {4, 2}, {4, 8}} {
		b.Run(fmt.Sprintf("lanes=%d/goroutines=%d", c.lanes, c.goroutines), func(b *testing.B) {
			g := ready(b, client.WithGeneratorLanes(c.lanes))
			// The ticks ahead of the clock are used before the measurement, because they are a stock and not a rate.
			if _, err := g.Ranges(b.Context(), 6*4096*c.lanes); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range c.goroutines {
				wg.Go(func() {
					ctx := context.Background()
					for range b.N / c.goroutines {
						if _, err := g.Next(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate/1e6, "M-ids/s")
			b.ReportMetric(100*rate/(4096e3*float64(c.lanes)), "%-of-layout")
		})
	}
}

// BenchmarkGeneratorOverhead measures the cost of an ID in a layout that does not limit the rate. It reports the
// cost as a multiple of a bare time.Now(): the median of many short turns of both, so that other load on the machine
// cancels out.
func BenchmarkGeneratorOverhead(b *testing.B) {
	g := ready(b, client.WithGeneratorLayout("wide"))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	const turns, each = 301, 2000
	took := func(f func()) float64 {
		began := time.Now()
		for range each {
			f()
		}
		return float64(time.Since(began))
	}
	var ratios []float64
	for range turns {
		bare := took(func() { _ = time.Now() })
		issuing := took(func() {
			if _, err := g.Next(ctx); err != nil {
				b.Fatal(err)
			}
		})
		ratios = append(ratios, issuing/bare)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[turns/2], "x-time.Now")
}
