package main

import (
	"context"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/sony/sonyflake"

	"github.com/snowraft/snowraft/snowflake"
)

// wideEpoch is the epoch of the layouts of bench.
var wideEpoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// inProcess compares issuers that need no request: a lane of the allocator, as in
// members and embedded generators, and other libraries.
func inProcess() section {
	const reading = "reading the clock (`time.Now`)"
	return section{name: "in-process", title: "IDs in process", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		wide, err := snowflake.New(snowflake.Spec{
			Name:        wideLayout,
			Fields:      []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 38}, {Field: snowflake.FieldWorker, Bits: 3}, {Field: snowflake.FieldSequence, Bits: 22}},
			UnitMillis:  1,
			EpochMillis: wideEpoch.UnixMilli(),
		})
		if err != nil {
			return nil, err
		}
		unlimited, err := openLane(ctx, wide, &started)
		if err != nil {
			return nil, err
		}
		usual, err := openLane(ctx, snowflake.Default(), &started)
		if err != nil {
			return nil, err
		}
		node, err := bwmarrin.NewNode(1)
		if err != nil {
			return nil, err
		}
		sony := sonyflake.NewSonyflake(sonyflake.Settings{StartTime: wideEpoch, MachineID: func() (uint16, error) { return 1, nil }})
		var counter atomic.Uint64
		c := comparison{
			heading: "operation, repeated in one goroutine",
			contenders: []contender{
				{name: "an atomic counter", turn: loopTurn(repeat(func() error { counter.Add(1); return nil }))},
				{name: reading, turn: loopTurn(readClock)},
				{name: "a lane, layout with 22 sequence bits", against: reading, turn: loopTurn(repeat(func() error { _, err := unlimited.Next(ctx, 0); return err }))},
				{name: "a lane, layout `default` (at most 4,096 IDs per millisecond)", turn: loopTurn(repeat(func() error { _, err := usual.Next(ctx, 0); return err }))},
				{name: "bwmarrin/snowflake (at most 4,096 IDs per millisecond)", turn: loopTurn(repeat(func() error { node.Generate(); return nil }))},
				{name: "sony/sonyflake v1.2.0 (at most 256 IDs per 10 ms)", turn: loopTurn(repeat(func() error { _, err := sony.NextID(); return err }))},
				{name: "google/uuid, version 4", turn: loopTurn(repeat(func() error { _, err := uuid.NewRandom(); return err }))},
				{name: "google/uuid, version 7", turn: loopTurn(repeat(func() error { _, err := uuid.NewV7(); return err }))},
				// The embedded generator goes here.
			},
			columns: []column{{"time per operation", each, false, nanoseconds}, {"operations per second", numbers, false, amount}, {"time relative to reading the clock", each, true, ratio}},
		}
		return c.measure(ctx, e)
	}}
}

// repeat returns a function that runs once n times.
func repeat(once func() error) func(int) error {
	return func(n int) error {
		for range n {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}
}
