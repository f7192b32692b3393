// Package top has the command top, which shows a cluster on a terminal continuously. [New] returns
// it.
package top

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxCount is the greatest number of overviews that --count may request.
const maxCount = 1 << 30

// New returns the command top.
func New(a *cli.App) *cobra.Command {
	count := 0
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the members of the cluster",
		Long: `Watch the members of the cluster: one sentence that says whether all is well, then the
members, their clocks, rates and lanes, and each problem with its remedy.
The view follows changes at once. Press q or Ctrl-C to stop.

If the member that sends the view stops answering, the command reports since when, and
connects to the next address. Without a terminal, it prints one view after another.
Times are in UTC.`,
		Example: `  snowraft top
  snowraft top -n 1
  snowraft top --addr 10.0.0.1:7700,10.0.0.2:7700 -o json`,
	}
	cli.AddFlag(cmd, "", "count", "n", cli.IntValue(&count, 0, maxCount), "number of views to print; 0 means no limit")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		ctx, _, stop := a.Interruptible(ctx)
		defer stop()
		first, err := r.Views.GetOverview(ctx, &snowraftv1.GetOverviewRequest{})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		var d display
		switch s := newScreen(a); {
		case out.JSON:
			d = &lines{out: out, errors: a.Stderr}
		case s == nil || count == 1:
			d = &blocks{out: out, width: a.Columns()}
		default:
			ctx, err = s.open(ctx)
			defer s.close()
			if err != nil {
				return err
			}
			d = s
		}
		if err := d.show(first.GetOverview()); err != nil || count == 1 {
			return err
		}
		f := &follower{remote: r, display: d, last: first.GetOverview(), left: count - 1}
		return f.follow(ctx)
	})
}
