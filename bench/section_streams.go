package main

import (
	"context"
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// streamRow is a row of the table of streams: so many clients with so many callers, next to two others.
type streamRow struct {
	name     string
	sequence string // empty: IDs
	clients  int
	callers  int // of each client
	// The targets are ratios; 0 for none.
	ofEcho, ofEarlier, p99 float64
}

var streamRows = []streamRow{
	{name: "IDs, 1 caller", clients: 1, callers: 1, ofEcho: 0.85, ofEarlier: 2},
	{name: "IDs, 64 callers", clients: 1, callers: 64, ofEcho: 0.9, ofEarlier: 3.2, p99: 1},
	{name: "IDs, 1,000 callers", clients: 1, callers: 1000, ofEcho: 0.9, ofEarlier: 1.7, p99: 1},
	{name: "IDs, 200 clients with a caller each", clients: 200, callers: 1, ofEarlier: 2},
	{name: "strict numbers, 1 caller", sequence: invoices, clients: 1, callers: 1, ofEarlier: 2.2},
	{name: "strict numbers, 64 callers", sequence: invoices, clients: 1, callers: 64, ofEarlier: 2.2, p99: 1},
	{name: "strict numbers, 1,000 callers", sequence: invoices, clients: 1, callers: 1000, ofEarlier: 1.3, p99: 1},
}

// streamed compares the Go client with itself before it used streams, and with what its streams can carry at most.
func streamed() section {
	return section{name: "streams", title: "The Go client over streams", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		present, earlier, err := e.drivers(ctx, &started)
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if err := members[0].sequence(ctx, invoices, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
			return nil, err
		}
		echo, err := e.startRole(roleStreams, &started, "GOGC=400")
		if err != nil {
			return nil, err
		}
		t = &table{columns: []string{
			"one at a time through the Go client, three members", "per second", "of the earlier client's", "of the echo's", "p50", "p99", "of the earlier client's",
		}}
		for _, row := range streamRows {
			of := drive{addresses: apis(members), sequence: row.sequence, clients: row.clients, callers: row.callers}
			bare := of
			bare.addresses = []string{echo}
			rounds, err := comparison{contenders: []contender{
				{name: "the present client", turn: present.turn(of)}, {name: "the earlier client", turn: earlier.turn(of)},
				{name: "the present client and the echo", turn: present.turn(bare)},
			}}.rounds(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.name, err)
			}
			row.add(t, rounds[0], rounds[1], rounds[2])
		}
		return t, nil
	}}
}

// add adds the row, and what is to be said of its targets.
func (r streamRow) add(t *table, present, earlier, echo []figures) {
	ofEarlier, ofEcho, slower := valuesOf(present, calls, earlier), valuesOf(present, calls, echo), valuesOf(present, p99, earlier)
	t.rows = append(t.rows, []string{
		r.name, amount(median(valuesOf(present, calls, nil))), spread(ofEarlier), spread(ofEcho),
		nanoseconds(median(valuesOf(present, p50, nil))), nanoseconds(median(valuesOf(present, p99, nil))), spread(slower),
	})
	for _, of := range []struct {
		target
		ratios []float64
	}{
		{target{text: fmt.Sprintf("%s: at least %s of the echo's rate", r.name, ratio(r.ofEcho)), atLeast: r.ofEcho}, ofEcho},
		{target{text: fmt.Sprintf("%s: at least %s of the earlier client's rate", r.name, ratio(r.ofEarlier)), atLeast: r.ofEarlier}, ofEarlier},
		{target{text: fmt.Sprintf("%s: a p99 of at most %s of the earlier client's", r.name, ratio(r.p99)), atMost: r.p99}, slower},
	} {
		if of.format = ratio; of.atLeast > 0 || of.atMost > 0 {
			t.notes = append(t.notes, of.judge(median(of.ratios)))
		}
	}
}
