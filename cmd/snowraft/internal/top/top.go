// Package top has the command top, which shows a cluster on a terminal continuously. [New] returns
// it.
package top

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxCount is the greatest number of overviews that --count may request.
const maxCount = 1 << 30

const (
	// retryRates is the time after which a view without rates is requested again, and mostRetries bounds the repetitions. A rate needs
	// two answers of a member, which a member that composes views requests every second.
	retryRates  = 700 * time.Millisecond
	mostRetries = 4
)

// rated reports whether an overview has the rates of all members that answer.
func rated(o *snowraftv1.Overview) bool {
	return !slices.ContainsFunc(o.GetMembers(), func(m *snowraftv1.MemberView) bool { return m.GetAnswers() && m.IdsPerSecond == nil })
}

// withRates requests an overview until it has rates, or for about three seconds.
func withRates(ctx context.Context, r *cli.Remote) (*snowraftv1.GetOverviewResponse, error) {
	tick := time.NewTicker(retryRates)
	defer tick.Stop()
	for tried := 0; ; tried++ {
		resp, err := r.Views.GetOverview(ctx, &snowraftv1.GetOverviewRequest{})
		if err != nil || tried == mostRetries || rated(resp.GetOverview()) {
			return resp, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// New returns the command top.
func New(a *cli.App) *cobra.Command {
	count := 0
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the members of the cluster",
		Long: `Watch the members of the cluster: one sentence that says whether all is well, then the
members, their clocks, rates and lanes, and each problem with its remedy.
The view follows changes at once. Press q or Ctrl-C to stop.

If the caller may read all sequences, the view also has those that need attention: the
oldest open reservations of gapless sequences, sequences and codes of which less than a
tenth is left, and templates that are suspended or near their quota. JSON has none of them:
see "snowraft seq list --sort open -o json".

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
		request := func(ctx context.Context, r *cli.Remote) (*snowraftv1.GetOverviewResponse, error) {
			return r.Views.GetOverview(ctx, &snowraftv1.GetOverviewRequest{})
		}
		if count == 1 {
			request = withRates // no later view shows them
		}
		first, err := request(ctx, r)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		var d display
		now, documented := scene{Overview: first.GetOverview()}, &reader{}
		switch s := newScreen(a); {
		case out.JSON:
			d, documented = &lines{out: out, errors: a.Stderr}, nil
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
		if count == 1 && documented != nil {
			now.documents = readDocuments(ctx, r)
		}
		if err := d.show(now); err != nil || count == 1 {
			return err
		}
		f := &follower{remote: r, display: d, last: now.Overview, left: count - 1, reader: documented}
		return f.follow(ctx)
	})
}
