package main

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/client"
)

// The names of figures.
const (
	allocations = "allocations each"
	waited      = "waited, of all"
)

// buffer measures IDs that were fetched in advance.
func buffer() section {
	const (
		one   = "`Buffer.Next`, 1 goroutine"
		eight = "`Buffer.Next`, 8 goroutines"
	)
	return section{name: "buffer", title: "IDs fetched in advance", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		member, err := e.startWide(ctx, &started)
		if err != nil {
			return nil, err
		}
		c, err := openClient([]string{member.api}, &started)
		if err != nil {
			return nil, err
		}
		ids, err := client.NewBuffer(c.IDs(wideLayout), client.WithBufferSize(50_000_000, 100_000_000))
		if err != nil {
			return nil, err
		}
		started.add(ids.Close)
		if err := until(ctx, func(ctx context.Context) error { return filled(ctx, ids) }); err != nil {
			return nil, err
		}
		var counter atomic.Uint64
		count := repeat(func() error { counter.Add(1); return nil })
		next := repeat(func() error { _, err := ids.Next(ctx); return err })
		return comparison{
			heading: "operation; layout with 22 sequence bits",
			contenders: []contender{
				{name: "an atomic counter, 1 goroutine", turn: together(1, count)},
				{name: "an atomic counter, 8 goroutines", turn: together(8, count)},
				{name: one, turn: withWaited(ids, together(1, next))},
				{name: eight, turn: withWaited(ids, together(8, next))},
			},
			columns: []column{
				{"time per operation", each, false, nanoseconds}, {"operations per second", numbers, false, amount}, {"allocations per operation", allocations, false, ratio},
				{"share of calls that found the buffer empty", waited, false, func(x float64) string { return strconv.FormatFloat(100*x, 'f', 4, 64) + " %" }},
			},
			targets: []target{
				{text: "under 20 ns in one goroutine", of: one, figure: each, atMost: 20, format: nanoseconds},
				{text: "under 60 ns in 8 goroutines", of: eight, figure: each, atMost: 60, format: nanoseconds},
				{text: "no allocations in one goroutine", of: one, figure: allocations, atMost: 0.005, format: ratio},
				{text: "no allocations in 8 goroutines", of: eight, figure: allocations, atMost: 0.005, format: ratio},
			},
		}.measure(ctx, e)
	}}
}

// filled waits until a buffer is full.
func filled(ctx context.Context, ids *client.Buffer) error {
	if err := ids.WaitReady(ctx); err != nil {
		return err
	}
	if s := ids.Stats(); s.Level < s.Capacity/2 {
		return client.ErrEmpty
	}
	return nil
}

// withWaited returns a turn that runs another turn and adds the share of calls that found the
// buffer empty.
func withWaited(ids *client.Buffer, turn turn) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		before := ids.Stats()
		f, err := turn(ctx, d)
		if err != nil {
			return nil, err
		}
		after := ids.Stats()
		f[waited] = float64(after.Waited-before.Waited) / float64(max(1, after.Taken-before.Taken))
		return f, nil
	}
}

// together returns a turn in which each of several goroutines repeats an operation. Its time per operation is the
// elapsed time divided by the number of operations of all goroutines.
func together(goroutines int, do func(n int) error) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		var (
			before, after runtime.MemStats
			all           sync.WaitGroup
			total         atomic.Int64
			failed        = make(chan error, goroutines)
		)
		runtime.ReadMemStats(&before)
		elapsed := stopwatch()
		for range goroutines {
			all.Go(func() {
				done, err := loop(ctx, d, do)
				total.Add(int64(done))
				failed <- err
			})
		}
		all.Wait()
		took := elapsed()
		runtime.ReadMemStats(&after)
		for range goroutines {
			if err := <-failed; err != nil {
				return nil, err
			}
		}
		n := float64(total.Load())
		return figures{each: float64(took) / n, numbers: n / took.Seconds(), allocations: float64(after.Mallocs-before.Mallocs) / n}, nil
	}
}
