package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// failover kills the leader, again and again, while callers request IDs.
func failover() section {
	return section{name: "failover", title: "The leader is killed", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if err := members[0].sequence(ctx, invoices, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
			return nil, err
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		var of []failures
		for _, after := range []time.Duration{settled, fresh} {
			f, err := e.killLeaders(ctx, c, members, after)
			if err != nil {
				return nil, err
			}
			of = append(of, f)
		}
		return failoverTable(of[0], of[1]), nil
	}}
}

const (
	// settled is how long after its start a member's window is so long that it outlasts
	// an election.
	settled = 5 * time.Second
	// fresh is after a start too, when it is short still.
	fresh = time.Second
	// invoices is the strict sequence.
	invoices = "invoices"
)

// failures is what happened while leaders were killed.
type failures struct {
	run  *load.Result
	back samples // from each kill until the strict sequence went on
}

// killLeaders kills the leader again and again, each time so long after all members had
// been started, while callers request IDs.
func (e *env) killLeaders(ctx context.Context, c *client.Client, members []*member, after time.Duration) (f failures, err error) {
	first, err := c.IDs("").Ranges(ctx, 1)
	if err != nil {
		return f, err
	}
	run, end := context.WithCancel(ctx)
	defer end()
	ran := make(chan *load.Result, 1)
	go func() {
		ran <- load.Run(run, load.Plan{
			Callers: coalesced(c, 64), Duration: 24 * time.Hour, Check: load.NewSeen(uint64(first[0].Step), load.DefaultSpans), //nolint:gosec // at least 1
		})
	}()
	next := func(ctx context.Context) error { _, err := c.Sequence(invoices).Next(ctx); return err }
	for range e.rounds {
		took, err := e.killLeader(ctx, members, after, next)
		if err != nil {
			return f, err
		}
		f.back = append(f.back, took)
	}
	end()
	f.run = <-ran
	if v := f.run.Report; v.Duplicates > 0 {
		return f, fmt.Errorf("%d IDs came twice, such as %v", v.Duplicates, v.Examples)
	}
	return f, nil
}

// killLeader waits, kills the leader, and starts it again. It returns how long after the
// kill the next number came.
func (e *env) killLeader(ctx context.Context, members []*member, after time.Duration, next func(context.Context) error) (time.Duration, error) {
	if err := pass(ctx, after); err != nil {
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

// failoverTable judges what happened when all members had been there for a while.
func failoverTable(usual, young failures) *table {
	t := &table{
		columns: []string{
			"64 callers, `client.IDs.Next`, three members", fmt.Sprintf("all members were there for %v", settled),
			fmt.Sprintf("another one was there for %v", fresh),
		},
		how: fmt.Sprintf("The leader was killed %d times each with SIGKILL, and started again each time", len(usual.back)),
	}
	slowest := func(f failures) float64 { return float64(f.run.Latency.Max()) }
	for _, row := range []struct {
		name   string
		value  func(failures) float64
		format format
	}{
		{"calls", func(f failures) float64 { return float64(f.run.Calls) }, amount},
		{"calls that failed", func(f failures) float64 { return float64(f.run.Failed()) }, whole},
		{"the slowest call", slowest, nanoseconds},
		{"p99.9 of the calls", func(f failures) float64 { return float64(f.run.Percentile(99.9)) }, nanoseconds},
		{"until a strict sequence goes on, median", func(f failures) float64 { return f.back.percentile(50) }, nanoseconds},
		{"the longest", func(f failures) float64 { return f.back.percentile(100) }, nanoseconds},
	} {
		t.rows = append(t.rows, []string{row.name, row.format(row.value(usual)), row.format(row.value(young))})
	}
	for _, of := range []struct {
		target
		value float64
	}{
		{target{text: "no failed call", atMost: 0.5, format: whole}, float64(usual.run.Failed() + young.run.Failed())},
		{target{text: "the slowest call under 100 ms", atMost: 100e6, format: nanoseconds}, slowest(usual)},
		{target{text: "strict sequences back within 2 s, the longest", atMost: 2e9, format: nanoseconds}, max(usual.back.percentile(100), young.back.percentile(100))},
	} {
		t.notes = append(t.notes, of.judge(of.value))
	}
	for _, f := range slices.Concat(usual.run.Failures, young.run.Failures) {
		t.notes = append(t.notes, fmt.Sprintf("%d calls failed with %s: %s", f.Count, f.Reason, f.Example))
	}
	return t
}
