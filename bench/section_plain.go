package main

import (
	"context"
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// receipts is the name of a relaxed sequence.
const receipts = "receipts"

// plainRow is a row of the table about plain numbers. It shows a figure of a turn.
type plainRow struct {
	name   string
	figure string
	turn   func(plainCluster) turn
}

// plainCluster is a cluster with a strict and a relaxed sequence, and the driver with the client of its commit.
type plainCluster struct {
	driver  driver
	members []*member // leader first
}

func plainRows() (rows []plainRow) {
	modes := []struct{ mode, sequence string }{{"strict", invoices}, {"relaxed", receipts}}
	for _, of := range modes {
		for _, callers := range []int{1, 64, 1000} {
			rows = append(rows, plainRow{
				name:   fmt.Sprintf("Go client, %s sequence, callers: %s", of.mode, whole(float64(callers))),
				figure: calls,
				turn: func(c plainCluster) turn {
					return c.driver.turn(drive{addresses: apis(c.members), sequence: of.sequence, clients: 1, callers: callers})
				},
			})
		}
	}
	for _, of := range modes {
		for _, figure := range []string{single, pipelined} {
			options := map[string]string{single: "-c 50", pipelined: "-c 50 -P 16"}[figure]
			rows = append(rows, plainRow{
				name:   fmt.Sprintf("`redis-benchmark %s`, `INCR` at the leader, %s sequence", options, of.mode),
				figure: figure,
				turn:   func(c plainCluster) turn { return incrOnly(c.members[0].redis, of.sequence, figure) },
			})
		}
	}
	return rows
}

// plain compares numbers of plain sequences with those of the last members that had no features for document numbers. A
// second turn of the earlier members in each round shows the noise.
func plain() section {
	return section{name: "plain-numbers", title: "Plain numbers before document numbers", long: true, measure: func(ctx context.Context, e *env) (t *table, err error) {
		if err := installed("redis-benchmark"); err != nil {
			return nil, err
		}
		var started closers
		defer started.close(&err)
		past, err := e.earlier(ctx, plainCommit)
		if err != nil {
			return nil, err
		}
		present, err := e.startPlain(ctx, "present", &started)
		if err != nil {
			return nil, err
		}
		earlier, err := past.startPlain(ctx, "plain", &started)
		if err != nil {
			return nil, err
		}
		t = &table{columns: []string{
			"numbers of a sequence without new features, three members", "per second", "per second with the earlier members",
			"rate relative to the earlier members", "second turn of the earlier members, relative to their first",
		}}
		for _, row := range plainRows() {
			rounds, err := comparison{contenders: []contender{
				{name: "the earlier members", turn: row.turn(earlier)},
				{name: "the present members", turn: row.turn(present)},
				{name: "the earlier members again", turn: row.turn(earlier)},
			}}.rounds(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.name, err)
			}
			row.add(t, rounds)
		}
		return t, nil
	}}
}

// add adds a row with the rounds of the three contenders, and a note that states whether its target is met. The present
// members are compared with the mean of the two turns of the earlier ones in each round.
func (r plainRow) add(t *table, rounds [][]figures) {
	earlier, present, again := rounds[0], rounds[1], rounds[2]
	var mean []figures
	for i := range earlier {
		mean = append(mean, figures{r.figure: (earlier[i][r.figure] + again[i][r.figure]) / 2})
	}
	ratios := valuesOf(present, r.figure, mean)
	t.rows = append(t.rows, []string{
		r.name, amount(median(valuesOf(present, r.figure, nil))), amount(median(valuesOf(mean, r.figure, nil))),
		spread(ratios), spread(valuesOf(again, r.figure, earlier)),
	})
	goal := target{text: r.name + ": at least 0.95 times the earlier rate", atLeast: 0.95, format: ratio}
	t.notes = append(t.notes, goal.judge(median(ratios)))
}

// startPlain starts a driver, and a cluster with a strict and a relaxed sequence.
func (e *env) startPlain(ctx context.Context, name string, started *closers) (c plainCluster, err error) {
	if c.driver, c.members, err = e.driven(ctx, name, started); err != nil {
		return c, err
	}
	if err := c.members[0].sequence(ctx, receipts, snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED); err != nil {
		return c, err
	}
	c.members, err = leaderFirst(ctx, c.members)
	return c, err
}
