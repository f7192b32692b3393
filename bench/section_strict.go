package main

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// strict measures a strict sequence through the Go client, next to an empty method.
func strict() section {
	const (
		sequence = "invoices"
		bare     = "64 callers of an empty gRPC method"
		ours     = "1,000 callers of `client.Sequence.Next`, strict sequence, three members"
	)
	return section{name: "strict", title: "A strict sequence through the Go client", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		echo, err := e.startRole(roleEcho, &started)
		if err != nil {
			return nil, err
		}
		empty, err := oneByOne(echo, 64, &started)
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if err := members[0].sequence(ctx, sequence, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
			return nil, err
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		numbers := c.Sequence(sequence)
		next := func(ctx context.Context) error { _, err := numbers.Next(ctx); return err }
		return comparison{
			heading: "callers that each request one number at a time",
			contenders: []contender{
				{name: bare, turn: loadTurn(empty)},
				{name: ours, against: bare, turn: loadTurn(singly(1000, next))},
				{name: "1 caller of `client.Sequence.Next`, strict sequence, three members", against: bare, turn: loadTurn(singly(1, next))},
			},
			columns: []column{
				{"calls per second", calls, false, amount}, {"rate relative to the empty method", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds},
			},
			targets: []target{{text: "at least 5 times the rate of the empty method", of: ours, figure: calls, ratio: true, atLeast: 5, format: ratio}},
		}.measure(ctx, e)
	}}
}
