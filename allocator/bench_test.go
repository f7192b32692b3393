package allocator_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/snowflake"
)

// wide is a layout whose sequence is never full, so that only the allocator's own cost shows.
func wide() *snowflake.Layout {
	return snowflake.MustNew(snowflake.Spec{
		Name:        "wide",
		Fields:      []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 37}, {Field: snowflake.FieldWorker, Bits: 4}, {Field: snowflake.FieldSequence, Bits: 22}},
		UnitMillis:  1,
		EpochMillis: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
	})
}

func openReal(tb testing.TB, layout *snowflake.Layout, lanes int) *allocator.Issuer {
	tb.Helper()
	i, err := allocator.Open(allocator.Config{
		Layout:  layout,
		Holder:  "bench",
		Nonce:   allocator.Nonce{1},
		Lanes:   lanes,
		Granter: newCluster(layout),
		Watch:   clock.NewWatch(clock.System(), nil, clock.Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond}),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	for slices.ContainsFunc(i.Lanes(), func(s allocator.LaneStatus) bool { return s.Token == 0 }) {
		if _, err := i.Next(tb.Context(), 0); err != nil { // waits for a window
			tb.Fatal(err)
		}
	}
	return i
}

// BenchmarkLane measures the share of the layout's limit that is reached: 100 % is 4,096 IDs per millisecond
// and lane.
func BenchmarkLane(b *testing.B) {
	for _, c := range []struct{ lanes, goroutines, batch int }{
		{1, 1, 1}, {1, 8, 1}, {1, 1, 100}, {1, 8, 100}, {4, 2, 1}, {4, 8, 1}, {4, 8, 100}, {4, 2, 1000},
	} {
		b.Run(fmt.Sprintf("lanes=%d/goroutines=%d/batch=%d", c.lanes, c.goroutines, c.batch), func(b *testing.B) {
			layout := snowflake.Default()
			i := openReal(b, layout, c.lanes)
			// The ticks ahead of the clock are used up first, because they are a stock and not a rate.
			if _, err := i.Take(b.Context(), nil, uint32(6*4096*c.lanes), 0); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range c.goroutines {
				wg.Go(func() {
					var ranges []allocator.Range
					share := b.N / c.goroutines / c.batch
					for range share {
						var err error
						if c.batch == 1 {
							_, err = i.Next(b.Context(), 0)
						} else {
							ranges, err = i.Take(b.Context(), ranges[:0], uint32(c.batch), 0)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			rate := float64(b.N/c.goroutines/c.batch*c.batch*c.goroutines) / b.Elapsed().Seconds()
			b.ReportMetric(rate/1e6, "M-ids/s")
			b.ReportMetric(100*rate/(4096e3*float64(c.lanes)), "%-of-layout")
		})
	}
}

// BenchmarkOverhead measures a lane's own cost, on a layout that does not limit the lane. It reports the cost
// as a multiple of a bare time.Now().UnixMilli(): the median of many short turns of both, so that other load on
// the machine cancels out.
func BenchmarkOverhead(b *testing.B) {
	i := openReal(b, wide(), 1)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := i.Next(ctx, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	const turns, each = 301, 2000
	var ratios []float64
	for range turns {
		bare := timed(func() {
			for range each {
				_ = time.Now().UnixMilli()
			}
		})
		issuing := timed(func() {
			for range each {
				if _, err := i.Next(ctx, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		ratios = append(ratios, float64(issuing)/float64(bare))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[turns/2], "x-time.Now")
}

func BenchmarkTimeNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = time.Now().UnixMilli()
	}
}
