package main

import (
	"context"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// failover kills the leader, again and again, while callers ask for IDs.
func failover() section {
	const sequence = "invoices"
	return section{name: "failover", title: "The leader is killed", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
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
		first, err := c.IDs("").Ranges(ctx, 1)
		if err != nil {
			return nil, err
		}
		run, end := context.WithCancel(ctx)
		defer end()
		ran := make(chan *load.Result, 1)
		go func() {
			ran <- load.Run(run, load.Plan{
				Callers: coalesced(c, 64), Duration: 24 * time.Hour, Check: load.NewSeen(first[0].Step, load.DefaultSpans),
			})
		}()
		next := func(ctx context.Context) error { _, err := c.Sequence(sequence).Next(ctx); return err }
		var back samples
		for range e.rounds {
			took, err := killLeader(ctx, e, members, next)
			if err != nil {
				return nil, err
			}
			back = append(back, took)
		}
		end()
		r := <-ran
		if r.Verdict.Duplicates > 0 {
			return nil, fmt.Errorf("%d IDs came twice, such as %v", r.Verdict.Duplicates, r.Verdict.Examples)
		}
		return failoverTable(r, back), nil
	}}
}

// killLeader kills the leader and starts it again. It returns how long after the kill the
// next number came.
func killLeader(ctx context.Context, e *env, members []*member, next func(context.Context) error) (time.Duration, error) {
	if err := pass(ctx, e.duration); err != nil {
		return 0, err
	}
	var leader *member
	if err := until(ctx, func(ctx context.Context) error { // elections take a moment
		ordered, err := leaderFirst(ctx, members)
		if err == nil {
			leader = ordered[0]
		}
		return err
	}); err != nil {
		return 0, err
	}
	if err := next(ctx); err != nil {
		return 0, err
	}
	elapsed := stopwatch()
	if err := leader.kill(); err != nil {
		return 0, err
	}
	if err := until(ctx, next); err != nil {
		return 0, err
	}
	took := elapsed()
	if err := pass(ctx, e.duration); err != nil {
		return 0, err
	}
	if err := leader.launch(e, nil); err != nil {
		return 0, err
	}
	return took, leader.await(ctx, leader.ready)
}

func failoverTable(r *load.Result, back samples) *table {
	slowest := float64(r.Latency.Max())
	t := &table{
		columns: []string{"64 callers, `client.IDs.Next`, three members", ""},
		rows: [][]string{
			{"calls", amount(float64(r.Calls))},
			{"calls that failed", whole(float64(r.Failed()))},
			{"the slowest call of the run", nanoseconds(slowest)},
			{"p99.9 of the calls", nanoseconds(float64(r.Percentile(99.9)))},
			{"until a strict sequence goes on, median of the kills", nanoseconds(back.percentile(50))},
			{"the longest", nanoseconds(back.percentile(100))},
		},
		how: fmt.Sprintf("The leader was killed %d times with SIGKILL, and started again each time, in one run", len(back)),
	}
	for _, of := range []struct {
		target
		value float64
	}{
		{target{text: "no failed call", atMost: 0.5, format: whole}, float64(r.Failed())},
		{target{text: "the slowest call of the run under 100 ms", atMost: 100e6, format: nanoseconds}, slowest},
		{target{text: "strict sequences back within 2 s, the longest", atMost: 2e9, format: nanoseconds}, back.percentile(100)},
	} {
		t.notes = append(t.notes, of.judge(of.value))
	}
	for _, f := range r.Failures {
		t.notes = append(t.notes, fmt.Sprintf("%d calls failed with %s: %s", f.Count, f.Reason, f.Example))
	}
	return t
}
