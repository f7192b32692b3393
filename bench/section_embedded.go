package main

import (
	"context"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/sony/sonyflake"

	"github.com/snowraft/snowraft/client"
)

// embedded compares a generator in this process, which leases its workers from members in
// other processes, with libraries that make no request.
func embedded() section {
	const (
		reading = "reading the clock (`time.Now`)"
		usual   = "`Generator`, layout `default` (at most 4,096 IDs per millisecond)"
		four    = "`Generator`, layout `default`, 4 lanes, 8 goroutines"
		wide    = "`Generator`, layout with 22 sequence bits"
	)
	return section{name: "embedded", title: "An embedded generator", measure: func(ctx context.Context, e *env) (t *table, err error) {
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
		generators := make([]*client.Generator, 3)
		for i, opts := range [][]client.GeneratorOption{nil, {client.WithGeneratorLanes(4)}, {client.WithGeneratorLayout(wideLayout)}} {
			if generators[i], err = openGenerator(ctx, c, &started, opts...); err != nil {
				return nil, err
			}
		}
		node, err := bwmarrin.NewNode(1)
		if err != nil {
			return nil, err
		}
		sony := sonyflake.NewSonyflake(sonyflake.Settings{StartTime: wideEpoch, MachineID: func() (uint16, error) { return 1, nil }})
		var counter atomic.Uint64
		return comparison{
			heading: "operation, repeated in one goroutine unless stated otherwise",
			contenders: []contender{
				{name: "an atomic counter", turn: loopTurn(repeat(func() error { counter.Add(1); return nil }))},
				{name: reading, turn: loopTurn(readClock)},
				{name: usual, turn: issuing(generators[0], 1, 1)},
				{name: four, turn: issuing(generators[1], 4, 8)},
				{name: wide, against: reading, turn: issuing(generators[2], 0, 1)},
				{name: "bwmarrin/snowflake (at most 4,096 IDs per millisecond)", turn: loopTurn(repeat(func() error { node.Generate(); return nil }))},
				{name: "sony/sonyflake v1.2.0 (at most 256 IDs per 10 ms)", turn: loopTurn(repeat(func() error { _, err := sony.NextID(); return err }))},
				{name: "google/uuid, version 4", turn: loopTurn(repeat(func() error { _, err := uuid.NewRandom(); return err }))},
				{name: "google/uuid, version 7", turn: loopTurn(repeat(func() error { _, err := uuid.NewV7(); return err }))},
			},
			columns: []column{{"time per operation", each, false, nanoseconds}, {"operations per second", numbers, false, amount}, {"time relative to reading the clock", each, true, ratio}},
			targets: []target{
				{text: "at least 99 % of the 4.096 million IDs per second that the layout `default` allows per lane", of: usual, figure: numbers, atLeast: 0.99 * 4.096e6, format: amount},
				{text: "at least 15 million IDs per second with 4 lanes", of: four, figure: numbers, atLeast: 15e6, format: amount},
				{text: "with 22 sequence bits, at most 1.5 times the time of reading the clock", of: wide, figure: each, ratio: true, atMost: 1.5, format: ratio},
			},
		}.measure(ctx, e)
	}}
}

// issuing returns a turn of goroutines that take IDs from one generator. Before the turn, it uses the ticks by which
// the lanes are ahead of the clock at rest: these are a stock and not a rate. lanes is 0 for a layout that does not
// limit the rate.
func issuing(g *client.Generator, lanes, goroutines int) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		if lanes > 0 {
			if _, err := g.Ranges(ctx, 6*4096*lanes); err != nil {
				return nil, err
			}
		}
		return together(goroutines, repeat(func() error { _, err := g.Next(ctx); return err }))(ctx, d)
	}
}
