package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/load"
)

// traces compares members with and without a collector of traces.
func traces() section {
	const (
		off     = "no collector (the default)"
		without = "with a collector, calls without a trace context"
		seldom  = "with a collector, one call in 100 sampled"
		always  = "with a collector, every call sampled"
	)
	return section{name: "traces", title: "Traces", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		sink, err := e.startRole(roleHTTP, &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "64 callers of `GenerateIds`, one ID per call",
			columns: []column{
				{"calls per second", calls, false, amount}, {"rate relative to no collector", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds}, {"p99 relative to no collector", p99, true, ratio},
			},
			targets: []target{
				{text: "without a trace context, at least 0.97 times the rate without a collector", of: without, figure: calls, ratio: true, atLeast: 0.97, format: ratio},
			},
		}
		for _, of := range []struct {
			name  string
			every int
		}{{off, 0}, {without, 0}, {seldom, 100}, {always, 1}} {
			var environ []string
			if of.name != off {
				environ = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + sink}
			}
			members, err := e.startCluster(ctx, 1, &started, environ...) // a member may export spans during other contenders' turns
			if err != nil {
				return nil, err
			}
			callers, err := oneByOne(members[0].api, 64, &started)
			if err != nil {
				return nil, err
			}
			for i := range callers {
				callers[i] = &sampling{Caller: callers[i], every: of.every}
			}
			next := contender{name: of.name, turn: loadTurn(callers)}
			if of.name != off {
				next.against = off
			}
			c.contenders = append(c.contenders, next)
		}
		return c.measure(ctx, e)
	}}
}

// sampling is a caller that sends a sampled trace context with one of every calls; never if every is 0.
type sampling struct {
	load.Caller
	every, calls int
}

// Call implements load.Caller.
func (s *sampling) Call(ctx context.Context, got *load.Receipt) error {
	s.calls++
	if s.every > 0 && s.calls%s.every == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", fmt.Sprintf("00-%032x-%016x-01", s.calls, s.calls))
	}
	return s.Caller.Call(ctx, got)
}
