// Package backfill has the commands for IDs of the past, below the command that [New] returns.
package backfill

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command backfill.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "backfill",
		Short: "Issue IDs of the past, for rows that are imported",
		Long: `Issue IDs of the past, for rows that are imported: each ID has the time of its row. The
layout must have been created with --past. Its past reaches from its epoch to its creation,
and belongs to backfill jobs: each is a worker of the past, and no job issues an ID that
another job or a member issues.`,
		Example: `  snowraft layout create orders --past --epoch 2015-01-01T00:00:00Z \
    --fields time:41,worker:10,sequence:12
  snowraft backfill run orders --times times.txt >ids.txt
  snowraft backfill list orders`,
	}, newStart(a), newRun(a), newList(a), newEnd(a), newResume(a))
}

func show(out *cli.Printer, doc any, b *snowraftv1.Backfill) error {
	return out.Answer(doc, cli.Record(
		"Job", b.GetJob(),
		"Holder", b.GetHolder(),
		"Started", cli.Stamp(b.GetCreatedAtMs()),
		"Position", cli.Stamp(b.GetPositionAtMs()),
		"State", state(b),
	))
}

func state(b *snowraftv1.Backfill) string {
	if b.GetEnded() {
		return "ended"
	}
	return "open"
}

func newStart(a *cli.App) *cobra.Command {
	var holder string
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "start LAYOUT",
		Short: "Start a backfill job",
		Long: `Start a backfill job, for programs that send the times of rows themselves. The command
"backfill run" starts a job of its own. A layout has as many jobs as workers, at most
65536, and they are never forgotten.`,
		Example: `  snowraft backfill start orders
  snowraft backfill start orders --holder archive-2019`,
	}
	addHolder(cmd, &holder)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Backfills.StartBackfill(ctx, &snowraftv1.StartBackfillRequest{Layout: args[0], Holder: holder})
		if err != nil {
			return err
		}
		return show(out, resp, resp.GetBackfill())
	})
}

func addHolder(cmd *cobra.Command, holder *string) {
	*holder = "import"
	cli.AddFlag(cmd, "", "holder", "", cli.TextValue(holder, "NAME"), "name of the job for people")
}

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "list LAYOUT",
		Short: "List the backfill jobs of a layout",
		Long: `List the backfill jobs of a layout that the answering member knows. No later ID of a
job has a time before its position.`,
		Example: `  snowraft backfill list orders
  snowraft backfill list orders -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		var last *snowraftv1.ListBackfillsResponse
		jobs, err := cli.List(func(token string) ([]*snowraftv1.Backfill, string, error) {
			resp, err := r.Backfills.ListBackfills(ctx, &snowraftv1.ListBackfillsRequest{Layout: args[0], PageSize: cli.PageSize, PageToken: token})
			last = resp
			return resp.GetBackfills(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		last.Backfills = jobs
		next := fmt.Sprintf("next job %d of %d", last.GetNextJob(), last.GetCapacity())
		if last.GetClosed() {
			next = `closed by a restore; open it with "snowraft backfill resume"`
		}
		return out.Answer(last,
			cli.Table(jobs, []string{"JOB", "HOLDER", "STARTED", "POSITION", "STATE"}, func(b *snowraftv1.Backfill) []any {
				return []any{b.GetJob(), b.GetHolder(), cli.Stamp(b.GetCreatedAtMs()), cli.Stamp(b.GetPositionAtMs()), state(b)}
			}),
			cli.Line("past until %s; %s", cli.Stamp(last.GetPastUntilAtMs()), next))
	})
}

func newEnd(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "end LAYOUT JOB",
		Short: "End a backfill job for good",
		Long: `End a backfill job for good. Its IDs stay valid, and later times are refused. Nothing needs
the end of a job; it protects a job that is complete.`,
		Example: `  snowraft backfill end orders 0`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		job, err := number(args[1])
		if err != nil {
			return err
		}
		resp, err := r.Backfills.EndBackfill(ctx, &snowraftv1.EndBackfillRequest{Layout: args[0], Job: job})
		if err != nil {
			return err
		}
		return show(out, resp, resp.GetBackfill())
	})
}

func newResume(a *cli.App) *cobra.Command {
	var after string
	cmd := &cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "resume LAYOUT",
		Short: "Open the past of a layout that a restore closed",
		Long: `Open the past of a layout that a restore closed. The cluster does not know which jobs the
old one started after the backup, so you must state the last one. Later jobs have greater
numbers, and the jobs of the old cluster stay ended.

State --after none only if the old cluster started no job after the backup. The greatest
number of a job is the greatest worker in the IDs that were imported; see "snowraft
decode".`,
		Example: `  snowraft backfill resume orders --after 7
  snowraft backfill resume orders --after none`,
	}
	cli.AddFlag(cmd, "", "after", "", cli.TextValue(&after, "JOB"), "greatest number of a job that the old cluster started, or none")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		req := &snowraftv1.ResumeBackfillsRequest{Layout: args[0]}
		switch after {
		case "":
			return cli.Usagef("backfill resume: missing --after; give the greatest number of a job that the old cluster started, or none")
		case "none":
		default:
			job, err := number(after)
			if err != nil {
				return err
			}
			req.After = &job
		}
		resp, err := r.Backfills.ResumeBackfills(ctx, req)
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("opened the past of layout %q; next job: %d", args[0], resp.GetNextJob()))
	})
}
