package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// settled is the time after a member's start at which its window outlasts an election.
	settled = 5 * time.Second
	// fresh is a time after a member's start at which its window is still short.
	fresh = time.Second
	// invoices is the name of the strict sequence.
	invoices = "invoices"
)

// failover removes leadership from successive leaders, in all ways, while callers request IDs and numbers.
func failover() section {
	return section{name: "failover", title: "Changes of the leader", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		for name, mode := range map[string]snowraftv1.SequenceMode{
			invoices: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, relaxedName: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
		} {
			if err := members[0].sequence(ctx, name, mode); err != nil {
				return nil, err
			}
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		kill := func(_ context.Context, leader *member) error { return leader.kill() }
		ways := []handover{
			{name: fmt.Sprintf("killed when all members had run for %s", inSeconds(settled)), after: settled, take: kill, ends: true},
			{name: fmt.Sprintf("killed when another member had run for only %s", inSeconds(fresh)), after: fresh, take: kill, ends: true},
			{name: "stopped", after: fresh, take: func(_ context.Context, leader *member) error { return leader.stop() }, ends: true},
			{name: "`leader transfer`", after: fresh, take: func(ctx context.Context, leader *member) error { return leader.transferLeadership(ctx) }},
		}
		count := 4 * e.rounds
		if e.brief() {
			count = 1
		}
		var of [4]handovers
		for i, h := range ways {
			if e.brief() {
				h.after = 2 * e.duration
			}
			if of[i], err = e.handOver(ctx, c, members, h, count); err != nil {
				return nil, fmt.Errorf("%s: %w", h.name, err)
			}
		}
		return failoverTable(ways, of, count), nil
	}}
}

// failoverTable returns the table of the four handovers: two ways to kill a leader, a stop and a transfer.
func failoverTable(ways []handover, of [4]handovers, count int) *table {
	t := &table{
		columns: []string{"three members; 64 callers request IDs, 64 request relaxed numbers"},
		how: fmt.Sprintf("%d changes of the leader per column. Each second, %s IDs and %s relaxed numbers are due, and latencies count from the time when a call is due. A killed leader gets SIGKILL, a stopped one SIGTERM",
			count, whole(idRate), whole(relaxedNumberRate)),
	}
	for _, h := range ways {
		t.columns = append(t.columns, h.name)
	}
	failed := func(r *load.Result) float64 { return float64(r.Failed()) }
	slowest := func(r *load.Result) float64 { return float64(r.Latency.Max()) }
	for _, row := range []struct {
		name   string
		value  func(handovers) float64
		format format
	}{
		{"IDs: failed calls", func(h handovers) float64 { return failed(h.ids) }, whole},
		{"IDs: p99.9", func(h handovers) float64 { return float64(h.ids.Percentile(99.9)) }, nanoseconds},
		{"IDs: slowest call", func(h handovers) float64 { return slowest(h.ids) }, nanoseconds},
		{"relaxed numbers: failed calls", func(h handovers) float64 { return failed(h.relaxed) }, whole},
		{"relaxed numbers: slowest call", func(h handovers) float64 { return slowest(h.relaxed) }, nanoseconds},
		{"strict numbers through the Go client: median interruption", func(h handovers) float64 { return h.client.percentile(50) }, nanoseconds},
		{"strict numbers through the Go client: longest interruption", func(h handovers) float64 { return h.client.percentile(100) }, nanoseconds},
		{"strict numbers through a follower: median interruption", func(h handovers) float64 { return h.followers.percentile(50) }, nanoseconds},
		{"strict numbers through a follower: longest interruption", func(h handovers) float64 { return h.followers.percentile(100) }, nanoseconds},
		{"elections beyond one per change of the leader", func(h handovers) float64 { return h.needless }, whole},
		{"elections won after a timeout", func(h handovers) float64 { return h.timeouts }, whole},
	} {
		cells := []string{row.name}
		for _, h := range of {
			cells = append(cells, row.format(row.value(h)))
		}
		t.rows = append(t.rows, cells)
	}
	worst := func(percent int, of ...handovers) (most float64) {
		for _, h := range of {
			most = max(most, h.client.percentile(percent), h.followers.percentile(percent))
		}
		return most
	}
	var lost, needless float64
	var failures []load.Failure
	for _, h := range of {
		lost += failed(h.ids) + failed(h.relaxed)
		needless += h.needless
		failures = slices.Concat(failures, h.ids.Failures, h.relaxed.Failures)
	}
	for _, of := range []struct {
		target
		value float64
	}{
		{target{text: "no failed calls", atMost: 0.5, format: whole}, lost},
		{target{text: "slowest ID under 100 ms after a kill, if all members had run for 5 s", atMost: 100e6, format: nanoseconds}, slowest(of[0].ids)},
		{target{text: "median interruption of strict numbers at most 250 ms after a kill", atMost: 250e6, format: nanoseconds}, worst(50, of[:2]...)},
		{target{text: "longest interruption of strict numbers at most 500 ms after a kill", atMost: 500e6, format: nanoseconds}, worst(100, of[:2]...)},
		{target{text: "longest interruption of strict numbers at most 50 ms after a stop", atMost: 50e6, format: nanoseconds}, worst(100, of[2])},
		{target{text: "longest interruption of strict numbers at most 50 ms after a transfer", atMost: 50e6, format: nanoseconds}, worst(100, of[3])},
		{target{text: "no elections beyond one per change of the leader", atMost: 0.5, format: whole}, needless},
	} {
		t.notes = append(t.notes, of.judge(of.value))
	}
	for _, f := range failures {
		t.notes = append(t.notes, fmt.Sprintf("%d calls failed with %s: %s", f.Count, f.Reason, f.Example))
	}
	return t
}
