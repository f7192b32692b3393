package main

import (
	"context"
	"net/http"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// plainHTTP compares numbers as plain text with a handler that prints a constant.
func plainHTTP() section {
	const (
		clients = 64
		bare    = "a net/http handler that returns a constant"
	)
	return section{name: "http", title: "Plain text over HTTP", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		constant, err := e.startRole(roleHTTP, &started)
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 1, &started)
		if err != nil {
			return nil, err
		}
		if err := members[0].sequence(ctx, "bench", snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED); err != nil {
			return nil, err
		}
		turn := func(name, against, address, method, path string) contender {
			callers := make([]load.Caller, clients)
			for i := range callers {
				c := load.NewHTTP(address, method, path, 1, callTimeout, load.Access{})
				started.add(func() error { c.Close(); return nil })
				callers[i] = c
			}
			return contender{name: name, against: against, turn: loadTurn(callers)}
		}
		return comparison{
			heading: "64 clients, each with a persistent connection",
			contenders: []contender{
				turn(bare, "", constant, http.MethodGet, "/"),
				turn("`GET /id`", bare, members[0].http, http.MethodGet, "/id"),
				turn("`POST /seq/NAME`, relaxed", bare, members[0].http, http.MethodPost, "/seq/bench"),
			},
			columns: []column{
				{"requests per second", calls, false, amount}, {"rate relative to the handler", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds},
			},
		}.measure(ctx, e)
	}}
}
