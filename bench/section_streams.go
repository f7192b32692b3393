package main

import (
	"context"
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// streamRow is a row of the table about streams.
type streamRow struct {
	name     string
	sequence string // name of the sequence; empty: IDs
	clients  int
	callers  int // per client
	// The targets are ratios; 0 if there is no target.
	ofEcho, ofEarlier, p99 float64
}

var streamRows = []streamRow{
	{name: "IDs, 1 caller", clients: 1, callers: 1, ofEcho: 0.85, ofEarlier: 2},
	{name: "IDs, 64 callers", clients: 1, callers: 64, ofEcho: 0.9, ofEarlier: 3.2, p99: 1},
	{name: "IDs, 1,000 callers", clients: 1, callers: 1000, ofEcho: 0.9, ofEarlier: 1.7, p99: 1},
	{name: "IDs, 200 clients with one caller each", clients: 200, callers: 1, ofEarlier: 2},
	{name: "strict numbers, 1 caller", sequence: invoices, clients: 1, callers: 1, ofEarlier: 2.2},
	{name: "strict numbers, 64 callers", sequence: invoices, clients: 1, callers: 64, ofEarlier: 2.2, p99: 1},
	{name: "strict numbers, 1,000 callers", sequence: invoices, clients: 1, callers: 1000, ofEarlier: 1.3, p99: 1},
}

// streamed compares the Go client and members with their versions before streams, and with the greatest rate of streams.
func streamed() section {
	return section{name: "streams", title: "The Go client over streams", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		past, err := e.earlier(ctx, callsCommit)
		if err != nil {
			return nil, err
		}
		present, members, err := e.driven(ctx, "present", &started)
		if err != nil {
			return nil, err
		}
		earlier, before, err := past.driven(ctx, "earlier", &started)
		if err != nil {
			return nil, err
		}
		echo, err := e.startRole(roleStreams, &started, "GOGC=400")
		if err != nil {
			return nil, err
		}
		t = &table{columns: []string{
			"requests for one ID or number at a time, through the Go client to three members", "requests per second", "rate relative to the earlier client and members",
			"rate relative to the earlier client with the present members", "rate relative to the echo", "p50", "p99", "p99 relative to the earlier client and members",
			"allocations of the client per request", "allocations of the earlier client per request",
		}}
		for _, row := range streamRows {
			of := func(addresses ...string) drive {
				return drive{addresses: addresses, sequence: row.sequence, clients: row.clients, callers: row.callers}
			}
			rounds, err := comparison{contenders: []contender{
				{name: "the present client", turn: present.turn(of(apis(members)...))},
				{name: "the earlier client and members", turn: earlier.turn(of(apis(before)...))},
				{name: "the earlier client at the present members", turn: earlier.turn(of(apis(members)...))},
				{name: "the present client at the echo", turn: present.turn(of(echo))},
			}}.rounds(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.name, err)
			}
			row.add(t, rounds)
		}
		return t, nil
	}}
}

// driven starts a driver and a cluster for it.
func (e *env) driven(ctx context.Context, name string, started *closers) (d driver, members []*member, err error) {
	if d, err = e.startDriver(ctx, name, started); err != nil {
		return d, nil, err
	}
	if members, err = e.startCluster(ctx, 3, started); err != nil {
		return d, nil, err
	}
	return d, members, members[0].sequence(ctx, invoices, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT)
}

// add adds a row with the rounds of the four contenders, and notes that state whether its targets are met.
func (r streamRow) add(t *table, rounds [][]figures) {
	present, earlier, alike, echo := rounds[0], rounds[1], rounds[2], rounds[3]
	ofEarlier, ofEcho, slower := valuesOf(present, calls, earlier), valuesOf(present, calls, echo), valuesOf(present, p99, earlier)
	t.rows = append(t.rows, []string{
		r.name, amount(median(valuesOf(present, calls, nil))), spread(ofEarlier), spread(valuesOf(present, calls, alike)), spread(ofEcho),
		nanoseconds(median(valuesOf(present, p50, nil))), nanoseconds(median(valuesOf(present, p99, nil))), spread(slower),
		ratio(median(valuesOf(present, allocations, nil))), ratio(median(valuesOf(earlier, allocations, nil))),
	})
	for _, of := range []struct {
		target
		ratios []float64
	}{
		{target{text: fmt.Sprintf("%s: at least %s times the echo's rate", r.name, ratio(r.ofEcho)), atLeast: r.ofEcho}, ofEcho},
		{target{text: fmt.Sprintf("%s: at least %s times the earlier rate", r.name, ratio(r.ofEarlier)), atLeast: r.ofEarlier}, ofEarlier},
		{target{text: fmt.Sprintf("%s: a p99 of at most %s times the earlier one", r.name, ratio(r.p99)), atMost: r.p99}, slower},
	} {
		if of.format = ratio; of.atLeast > 0 || of.atMost > 0 {
			t.notes = append(t.notes, of.judge(median(of.ratios)))
		}
	}
}
