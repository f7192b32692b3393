package main

import (
	"context"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// wideLayout is a layout with more IDs per tick than a lane can issue.
const wideLayout = "wide"

// batches measures calls for many IDs, in a layout that does not limit the rate.
func batches() section {
	const (
		clients = 4
		batch   = 10_000
		ranges  = "ranges"
		packed  = "packed IDs"
	)
	return section{name: "batches", title: "Batches of 10,000 IDs over gRPC", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		member, err := e.startWide(ctx, &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "form of the IDs; 4 callers on one connection",
			columns: []column{{"IDs per second", numbers, false, amount}, {"calls per second", calls, false, amount}, {"p99 of a call", p99, false, nanoseconds}},
			targets: []target{
				{text: "at least 50 million IDs per second as ranges", of: ranges, figure: numbers, atLeast: 50e6, format: amount},
				{text: "at least 10 million packed IDs per second", of: packed, figure: numbers, atLeast: 10e6, format: amount},
			},
		}
		for _, name := range []string{ranges, packed} {
			callers, err := overOne(member.api, clients, &started, func(conn *grpc.ClientConn) load.Caller {
				return &load.IDs{
					Client:  snowraftv1.NewIdServiceClient(conn),
					Request: &snowraftv1.GenerateIdsRequest{Layout: wideLayout, Count: batch, Packed: new(name == packed)}, Timeout: callTimeout,
				}
			})
			if err != nil {
				return nil, err
			}
			c.contenders = append(c.contenders, contender{name: name, turn: loadTurn(callers)})
		}
		return c.measure(ctx, e)
	}}
}
