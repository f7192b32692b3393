package main

import (
	"context"
	"time"

	"github.com/snowraft/snowraft/client"
)

// firstID measures the time from the start of a Go client to its first ID.
func firstID() section {
	const (
		one   = "`client.New` and `NextID`, one member"
		three = "`client.New` and `NextID`, three members"
	)
	return section{name: "first-id", title: "The Go client's first ID", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		alone, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		cluster, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "first ID over loopback",
			contenders: []contender{
				{name: "a new gRPC connection and `GenerateIds`", turn: firstIDs(alone[0].api)},
				{name: one, turn: clientTurn(apis(alone))},
				{name: three, turn: clientTurn(apis(cluster))},
			},
			columns: []column{{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds}, {"longest time in a round", longest, false, nanoseconds}},
		}
		for _, name := range []string{one, three} {
			c.targets = append(c.targets, target{text: name + ": longest time in a round under 50 ms", of: name, figure: longest, atMost: 50e6, format: nanoseconds})
		}
		return c.measure(ctx, e)
	}}
}

// clientTurn returns a turn that creates one client after the other, and measures the time until each
// has its first ID.
func clientTurn(addresses []string, options ...client.Option) turn {
	first := func(ctx context.Context) (took time.Duration, err error) {
		elapsed := stopwatch()
		c, err := client.New(addresses, options...)
		if err != nil {
			return 0, err
		}
		if _, err = c.NextID(ctx); err == nil {
			took = elapsed()
		}
		closeErr := c.Close()
		if err == nil {
			err = closeErr
		}
		return took, err
	}
	return func(ctx context.Context, d time.Duration) (figures, error) {
		var all samples
		for whole := stopwatch(); len(all) == 0 || whole() < d; {
			took, err := first(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		return all.figures(), nil
	}
}
