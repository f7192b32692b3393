package main

import (
	"context"
	"net/http"

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
		c := comparison{
			heading: "64 clients, each with a persistent connection",
			columns: []column{
				{"requests per second", calls, false, amount}, {"rate relative to the handler", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds},
			},
		}
		for _, of := range []struct{ name, against, method, address, path string }{
			{bare, "", http.MethodGet, constant, "/"},
			{"`GET /id`", bare, http.MethodGet, members[0].http, "/id"},
			{"`POST /seq/NAME`, relaxed", bare, http.MethodPost, members[0].http, "/seq/bench"},
		} {
			callers, err := httpLinks(ctx, clients, of.method, of.address, of.path, &started)
			if err != nil {
				return nil, err
			}
			c.contenders = append(c.contenders, contender{name: of.name, against: of.against, turn: loadTurn(callers)})
		}
		return c.measure(ctx, e)
	}}
}
