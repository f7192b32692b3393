package main

import "context"

// coalescing compares callers that share calls with callers that do not.
func coalescing() section {
	const (
		unary      = "64 callers of `GenerateIds`, one ID per call"
		shared     = "1,000 callers of `client.IDs.Next`"
		alone      = "1 caller of `GenerateIds`, one ID per call"
		aloneByOur = "1 caller of `client.IDs.Next`"
	)
	return section{name: "coalescing", title: "Callers that share calls", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		many, err := oneByOne(members[0].api, 64, &started)
		if err != nil {
			return nil, err
		}
		single, err := oneByOne(members[0].api, 1, &started)
		if err != nil {
			return nil, err
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		return comparison{
			heading: "callers that each request one ID at a time",
			contenders: []contender{
				{name: unary, turn: loadTurn(many)},
				{name: shared, against: unary, turn: loadTurn(coalesced(c, 1000))},
				{name: alone, turn: loadTurn(single)},
				{name: aloneByOur, against: alone, turn: loadTurn(coalesced(c, 1))},
			},
			columns: []column{
				{"IDs per second", calls, false, amount}, {"rate relative to `GenerateIds`", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p50 relative to `GenerateIds`", p50, true, ratio}, {"p99", p99, false, nanoseconds},
			},
			targets: []target{{text: "at least 10 times the rate of unary calls", of: shared, figure: calls, ratio: true, atLeast: 10, format: ratio}},
		}.measure(ctx, e)
	}}
}
