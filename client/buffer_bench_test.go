package client

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/limits"
)

// plenty is a source that always returns IDs at once.
func plenty() func(context.Context, uint64) ([]Range, error) {
	var last int64
	return func(_ context.Context, count uint64) ([]Range, error) {
		var all []Range
		for left := count; left > 0; {
			n := min(left, 4096) // IDs per tick of the layout "default"
			all = append(all, Range{First: last + 1, Count: int(n), Step: 1})
			last += int64(n)
			left -= n
		}
		return all, nil
	}
}

func benchmarkBuffer(b *testing.B, goroutines int) {
	o, err := newBufferOptions([]BufferOption{WithBufferSize(10_000_000, 100_000_000)})
	if err != nil {
		b.Fatal(err)
	}
	buffer := newBuffer(plenty(), limits.CallTimeout, o)
	defer buffer.Close()
	if err := buffer.WaitReady(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for range (b.N + g) / goroutines {
				if _, err := buffer.Next(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(buffer.Stats().Waited), "waited")
}

func BenchmarkBufferNext(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) { benchmarkBuffer(b, goroutines) })
	}
}
