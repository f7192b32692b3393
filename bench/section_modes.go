package main

import (
	"context"
	"time"

	"github.com/snowraft/snowraft/client"
)

// modes measures each way in which a program can get IDs: the time that a caller waits for an ID,
// and the greatest rate of a process.
func modes() section {
	return section{name: "modes", title: "Modes of the Go client", page: "client.md", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		gateway, err := e.newGateway(ctx, members)
		if err != nil {
			return nil, err
		}
		if err := gateway.launch(e, &started); err != nil {
			return nil, err
		}
		if err := gateway.await(ctx, gateway.ready); err != nil {
			return nil, err
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		generator, err := openGenerator(ctx, c, &started)
		if err != nil {
			return nil, err
		}
		ids, err := client.NewBuffer(c.IDs(""))
		if err != nil {
			return nil, err
		}
		started.add(ids.Close)
		if err := ids.WaitReady(ctx); err != nil {
			return nil, err
		}
		gatewayCalls, err := oneByOne(gateway.api, 64, &started)
		if err != nil {
			return nil, err
		}
		session := c.IDs("").Session(0)
		inOrder := func(ctx context.Context) error { _, err := session.Next(ctx); return err }
		embedded := func() error { _, err := generator.Next(ctx); return err }
		buffered := func() error { _, err := ids.Next(ctx); return err }
		return comparison{
			heading: "layout `default`, three members",
			contenders: []contender{
				{name: "`Generator.Next`, one lane", turn: mode(burstTurn(embedded), issuing(generator, 1, 1))},
				{name: "`Buffer.Next`", turn: mode(burstTurn(buffered), drained(ids, loopTurn(repeat(buffered))))},
				{name: "`IDs.Next`, one caller", turn: loadTurn(coalesced(c, 1))},
				{name: "`IDs.Next`, 1,000 callers", turn: loadTurn(coalesced(c, 1000))},
				{name: "`Session.Next`, one caller", turn: loadTurn(singly(1, inOrder))},
				{name: "`Session.Next`, 1,000 callers", turn: loadTurn(singly(1000, inOrder))},
				{name: "a gateway over gRPC, one caller", turn: loadTurn(gatewayCalls[:1])},
				{name: "a gateway over gRPC, 64 callers", turn: loadTurn(gatewayCalls)},
			},
			columns: []column{{"p50 of the time for an ID", p50, false, nanoseconds}, {"p99 of the time for an ID", p99, false, nanoseconds}, {"highest rate, IDs per second", numbers, false, amount}},
		}.measure(ctx, e)
	}}
}

// drained returns a turn that empties the buffer and then runs another turn: the IDs in the buffer are
// a stock and not a rate.
func drained(ids *client.Buffer, turn turn) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		for range ids.Stats().Level {
			if _, err := ids.Next(ctx); err != nil {
				return nil, err
			}
		}
		return turn(ctx, d)
	}
}

// mode returns a turn that consists of two turns: latency measures the time per ID at a low rate, most measures
// the greatest rate.
func mode(latency, most turn) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		all, err := latency(ctx, d)
		if err != nil {
			return nil, err
		}
		rate, err := most(ctx, d)
		if err != nil {
			return nil, err
		}
		all[numbers] = rate[numbers]
		return all, nil
	}
}
