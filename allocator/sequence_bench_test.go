package allocator_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// endless grants any block at once, with as many numbers as a benchmark uses up.
type endless struct{ token, next atomic.Uint64 }

func (e *endless) AllocateBlock(_ context.Context, _ string, count uint64, _ allocator.ReturnKey) (allocator.Block, error) {
	count = max(count, 1_000_000)
	return allocator.Block{
		Token:    e.token.Add(1),
		Numbers:  allocator.Numbers{First: int64(e.next.Add(count) - count), Count: count, Increment: 1, Generation: 1},
		Duration: 10 * time.Second, MinCount: 1_000_000, MaxCount: 1_000_000_000,
	}, nil
}

func (*endless) ReturnBlock(context.Context, string, uint64, uint64, allocator.ReturnKey) error {
	return nil
}

func openEndless(tb testing.TB, change func(*allocator.SequenceConfig)) *allocator.Sequence {
	tb.Helper()
	cfg := allocator.SequenceConfig{Name: "bench", Granter: new(endless), Clock: clock.System(), Revision: new(atomic.Uint64)}
	if change != nil {
		change(&cfg)
	}
	s := allocator.OpenSequence(cfg)
	tb.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	if _, err := s.Next(tb.Context(), 1); err != nil {
		tb.Fatal(err)
	}
	return s
}

func BenchmarkSequence(b *testing.B) {
	for _, c := range []struct {
		goroutines int
		count      uint64
	}{{1, 1}, {8, 1}, {1, 100}, {8, 100}} {
		b.Run(fmt.Sprintf("goroutines=%d/count=%d", c.goroutines, c.count), func(b *testing.B) {
			s := openEndless(b, nil)
			ctx := context.Background()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for range c.goroutines {
				wg.Go(func() {
					for range b.N / c.goroutines {
						if _, err := s.Next(ctx, c.count); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(s.Stats().Waited), "waited")
		})
	}
}

// periodic is endless with a period that does not end.
type periodic struct{ endless }

func (p *periodic) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	b, err := p.endless.AllocateBlock(ctx, name, count, key)
	b.Period, b.PeriodEnd = 29991231, time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return b, err
}

// A sequence with a reset reads the clock for every number.
func BenchmarkSequenceWithReset(b *testing.B) {
	s := openEndless(b, func(cfg *allocator.SequenceConfig) { cfg.Granter = new(periodic) })
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(ctx, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNumbersAreNotAllocated(t *testing.T) {
	for _, granter := range []allocator.BlockGranter{new(endless), new(periodic)} {
		s := openEndless(t, func(cfg *allocator.SequenceConfig) { cfg.Granter = granter })
		ctx := context.Background()
		for _, count := range []uint64{1, 10} {
			if allocated := testing.AllocsPerRun(10_000, func() {
				if _, err := s.Next(ctx, count); err != nil {
					t.Fatal(err)
				}
			}); allocated != 0 {
				t.Errorf("%v allocations for %d numbers", allocated, count)
			}
		}
	}
}

// An idle sequence costs only its memory.
func TestIdleSequencesAreSmall(t *testing.T) {
	const many = 10_000
	cfg := allocator.SequenceConfig{
		Name: "idle", Granter: new(endless), Clock: clock.System(), Revision: new(atomic.Uint64),
		Current: func() (uint64, int32, bool) { return 1, 0, true },
		Logger:  slog.New(slog.DiscardHandler),
	}
	open := make([]*allocator.Sequence, many)
	goroutines := runtime.NumGoroutine()
	before := heap()
	for i := range open {
		open[i] = allocator.OpenSequence(cfg)
		if _, err := open[i].Next(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / many
	t.Logf("%d bytes for each", each)
	if each > 768 {
		t.Errorf("an idle sequence with its block takes %d bytes", each)
	}
	if now := runtime.NumGoroutine(); now > goroutines+many/100 {
		t.Errorf("%d goroutines for %d sequences", now-goroutines, many)
	}
	for _, s := range open {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
