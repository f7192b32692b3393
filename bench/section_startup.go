package main

import (
	"context"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// startup measures the time to a first ID, including the connection.
func startup() section {
	const ours = "a new gRPC connection and `GenerateIds`"
	return section{name: "startup", title: "First ID after connecting", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		echo, err := e.startRole(roleEcho, &started)
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		return comparison{
			heading: "first call over loopback",
			contenders: []contender{
				{name: "a new gRPC connection and an empty method", turn: firstIDs(echo)},
				{name: ours, turn: firstIDs(members[0].api)},
				// The Go client's first ID goes here.
			},
			columns: []column{{"p50", p50, false, nanoseconds}, {"longest time in a round", longest, false, nanoseconds}},
			targets: []target{{text: "longest time in a round under 50 ms", of: ours, figure: longest, atMost: 50e6, format: nanoseconds}},
		}.measure(ctx, e)
	}}
}

// firstIDs returns a turn in which each call has a new connection.
func firstIDs(address string) turn {
	return loadTurn([]load.Caller{load.CallerFunc(func(ctx context.Context, got *load.Receipt) error {
		conn, err := load.Dial(address, load.Access{})
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // fails only if closed before
		first := &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: &snowraftv1.GenerateIdsRequest{Count: 1}, Timeout: callTimeout}
		return first.Call(ctx, got)
	})})
}
