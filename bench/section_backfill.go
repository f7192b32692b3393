package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/client"
)

const (
	archive = "archive" // layout with a past
	// The rows are spread evenly over ten years.
	backfillRows  = 1_000_000
	backfillYears = 10 * 365 * 24 * time.Hour
	took          = "ns for all rows"
)

// backfills measures IDs of the past for a million rows over ten years, each time by a new job.
func backfills() section {
	return section{name: "backfill", title: "IDs of the past", measure: func(ctx context.Context, e *env) (t *table, err error) {
		rows := backfillRows
		if e.brief() {
			rows = 20_000
		}
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		begin := wall().Add(-backfillYears - time.Hour)
		if err := until(ctx, func(ctx context.Context) error { // fails until the new cluster has the newest version
			return e.run(ctx, "layout", "create", archive, "--past", "--epoch", strconv.FormatInt(begin.UnixMilli(), 10),
				"--fields", "time:41,worker:10,sequence:12", "--addr", members[0].api)
		}); err != nil {
			return nil, err
		}
		times := make([]time.Time, rows)
		var lines bytes.Buffer
		for i := range times {
			times[i] = begin.Add(time.Duration(i) * (backfillYears / time.Duration(rows)))
			fmt.Fprintln(&lines, times[i].UnixMilli())
		}
		file := filepath.Join(e.dir, "times.txt")
		if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
			return nil, err
		}
		c, err := openClient(apis(members), &started)
		if err != nil {
			return nil, err
		}
		t, err = comparison{
			heading: fmt.Sprintf("%s rows over ten years in one stream, three members", whole(float64(rows))),
			contenders: []contender{
				{name: "`snowraft backfill run --times FILE`", turn: e.backfillCommand(members, file, rows)},
				{name: "`client.StartBackfill`, and `Backfill.IDs` with all times", turn: backfillClient(c, times)},
			},
			columns: []column{{"time", took, false, nanoseconds}, {"IDs per second", numbers, false, amount}},
		}.measure(ctx, e)
		if err == nil {
			t.how = fmt.Sprintf("Medians of %d streams of each kind, each by a new job", e.rounds)
		}
		return t, err
	}}
}

// backfillCommand returns a turn of the command. It checks that the IDs ascend, so that no two are equal.
func (e *env) backfillCommand(members []*member, file string, rows int) turn {
	return func(ctx context.Context, _ time.Duration) (figures, error) {
		var ids bytes.Buffer
		cmd := exec.CommandContext(ctx, e.snowraft, "backfill", "run", archive, "--times", file, "--addr", members[0].api) //nolint:gosec // the program of this repository
		var failed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &ids, &failed
		elapsed := stopwatch()
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("backfill run: %w: %s", err, failed.Bytes())
		}
		f := stream(elapsed(), rows)
		count, last := 0, int64(0)
		for all := bufio.NewScanner(&ids); all.Scan(); count++ {
			id, err := strconv.ParseInt(all.Text(), 10, 64)
			if err != nil {
				return nil, err
			}
			if id <= last {
				return nil, fmt.Errorf("ID %d after %d", id, last)
			}
			last = id
		}
		if count != rows {
			return nil, fmt.Errorf("%d IDs for %d rows", count, rows)
		}
		return f, nil
	}
}

// backfillClient returns a turn of the Go client.
func backfillClient(c *client.Client, times []time.Time) turn {
	return func(ctx context.Context, _ time.Duration) (figures, error) {
		elapsed := stopwatch()
		job, err := c.StartBackfill(ctx, archive, "bench")
		if err != nil {
			return nil, err
		}
		ids, err := job.IDs(ctx, times)
		if err != nil {
			return nil, err
		}
		f := stream(elapsed(), len(times))
		for i := 1; i < len(ids); i++ {
			if ids[i] <= ids[i-1] {
				return nil, fmt.Errorf("ID %d after %d", ids[i], ids[i-1])
			}
		}
		return f, nil
	}
}

// stream returns the figures of a stream of rows.
func stream(d time.Duration, rows int) figures {
	return figures{took: float64(d), numbers: float64(rows) / d.Seconds()}
}
