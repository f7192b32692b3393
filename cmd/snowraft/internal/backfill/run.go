package backfill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// number returns the number of a job.
func number(text string) (uint64, error) {
	job, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, cli.Usagef("job %.40q: expected the number of a job", text)
	}
	return job, nil
}

// run holds the flags of run.
type run struct {
	times, holder, job string
	within             time.Duration
}

func newRun(a *cli.App) *cobra.Command {
	f := &run{times: "-"}
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "run LAYOUT",
		Short: "Issue an ID for each of a stream of times",
		Long: `Issue an ID for each of a stream of times, and print the IDs in the same order, one per
line. The times stand one per line, in order: Unix milliseconds, or RFC 3339. Each lies
between the epoch of the layout and its creation.

The command starts a job, or continues --job: then all times lie at or after the position of
the job. If more rows share a tick of the layout than the tick has IDs, the command fails,
and names the row. With --within, such rows get the next free IDs that are at most
so much later. Use it if the times are rounded, for example to seconds.

If the command fails, the IDs that it printed are those of the first rows. Run it again for
the rest of the rows: it starts another job.`,
		Example: `  psql -At -c "SELECT floor(extract(epoch FROM created_at) * 1000)::bigint
    FROM orders ORDER BY created_at, id" | snowraft backfill run orders >ids.txt
  snowraft backfill run orders --times times.txt --within 1s >ids.txt`,
	}
	cli.AddFlag(cmd, "", "times", "", cli.FileValue(&f.times), "file with the times of the rows, one per line; - reads standard input")
	cli.AddFlag(cmd, "", "within", "", cli.DurationValue(&f.within, 0, limits.BackfillWithin), "time by which an ID may be later than its row")
	cli.AddFlag(cmd, "", "job", "", cli.TextValue(&f.job, "JOB"), "job to continue (default: start one)")
	addHolder(cmd, &f.holder)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		in := a.Stdin
		if f.times != "-" {
			file, err := os.Open(f.times)
			if err != nil {
				return cli.Usagef("--times %q: cannot be read (%v); choose a file with one time per line, or - for standard input", f.times, cli.Innermost(err))
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		job, err := f.open(ctx, r.Client(), args[0])
		if err != nil {
			return err
		}
		job.Within = f.within
		rows, err := f.stream(ctx, in, func(times []time.Time) error {
			ids, err := job.IDs(ctx, times)
			switch {
			case err != nil:
				return err
			case out.JSON:
				return out.Answer(&snowraftv1.BackfillIdsResponse{Ids: ids, Position: job.Position})
			}
			return out.Lines(lines(ids))
		})
		if err != nil {
			return fmt.Errorf("%d rows got IDs, by backfill job %d: %w", rows, job.Job, err)
		}
		fmt.Fprintf(a.Stderr, "%d IDs issued by backfill job %d\n", rows, job.Job)
		return nil
	})
}

func (f *run) open(ctx context.Context, c *client.Client, layout string) (*client.Backfill, error) {
	if f.job == "" {
		return c.StartBackfill(ctx, layout, f.holder)
	}
	job, err := number(f.job)
	if err != nil {
		return nil, err
	}
	return c.ContinueBackfill(ctx, layout, job)
}

// stream reads times and passes them on in batches. It returns the number of rows whose batches were accepted.
func (f *run) stream(ctx context.Context, in io.Reader, accept func([]time.Time) error) (rows int, err error) {
	scan, line := bufio.NewScanner(in), 0
	batch := make([]time.Time, 0, limits.BackfillRows)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := accept(batch)
		if err == nil {
			rows, batch = rows+len(batch), batch[:0]
		}
		return err
	}
	for scan.Scan() && ctx.Err() == nil {
		line++
		text := strings.TrimSpace(scan.Text())
		if text == "" {
			continue
		}
		at, err := parse(text)
		if err != nil {
			return rows, errors.Join(flush(), cli.Usagef("--times %s:%d: %.40q: expected Unix milliseconds, or a time as 2019-08-24T14:15:22Z", f.times, line, text))
		}
		if batch = append(batch, at); len(batch) == limits.BackfillRows {
			if err := flush(); err != nil {
				return rows, err
			}
		}
	}
	if err := scan.Err(); err != nil {
		return rows, fmt.Errorf("read --times %s:%d: %w", f.times, line+1, err)
	}
	if err := ctx.Err(); err != nil {
		return rows, err
	}
	return rows, flush()
}

func parse(text string) (time.Time, error) {
	if millis, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(millis), nil
	}
	return time.Parse(time.RFC3339Nano, text)
}

// lines yields the IDs as text. Each text is valid until the next one.
func lines(ids []int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var text []byte
		for _, id := range ids {
			if text = strconv.AppendInt(text[:0], id, 10); !yield(text) {
				return
			}
		}
	}
}
