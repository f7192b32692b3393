package main

import "context"

// unary compares single IDs, each in a separate call, with an empty gRPC method.
func unary() section {
	const (
		clients = 64
		bare    = "an empty gRPC method, with messages of the same size"
		seldom  = "the same method in a server with `GOGC=400`, as in a member"
		ours    = "`GenerateIds`, one ID per call"
	)
	return section{name: "unary", title: "Unary calls over gRPC", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		echo, err := e.startRole(roleEcho, &started)
		if err != nil {
			return nil, err
		}
		tuned, err := e.startRole(roleEcho, &started, "GOGC=400")
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		turn := func(name, against, address string) (contender, error) {
			callers, err := oneByOne(address, clients, &started)
			return contender{name: name, against: against, turn: loadTurn(callers)}, err
		}
		them, err := turn(bare, "", echo)
		if err != nil {
			return nil, err
		}
		alike, err := turn(seldom, bare, tuned)
		if err != nil {
			return nil, err
		}
		us, err := turn(ours, bare, members[0].api)
		if err != nil {
			return nil, err
		}
		return comparison{
			heading:    "64 callers on one connection",
			contenders: []contender{them, alike, us},
			columns: []column{
				{"calls per second", calls, false, amount}, {"rate relative to the empty method", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds}, {"p99 relative to the empty method", p99, true, ratio},
			},
			targets: []target{
				{text: "at least 0.95 times the rate of the empty method", of: ours, figure: calls, ratio: true, atLeast: 0.95, format: ratio},
				{text: "a p99 of at most 1.1 times that of the empty method", of: ours, figure: p99, ratio: true, atMost: 1.1, format: ratio},
			},
		}.measure(ctx, e)
	}}
}
