package leader

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newTransfer(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "transfer [NAME|ID]",
		Short: "Move the leadership to another voter",
		Long: `Moves the leadership to the voter that is named, or to whichever has caught up
best, and prints who leads then.`,
		Example: `  snowraft leader transfer
  snowraft leader transfer b`,
		Args: cli.Args("[NAME|ID]"),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		req := &snowraftv1.TransferLeadershipRequest{}
		if len(args) == 1 {
			req.Member = args[0]
		}
		resp, err := r.Cluster.TransferLeadership(ctx, req)
		if err != nil {
			return err
		}
		return show(out, resp.GetLeaderId(), resp.GetLeaderName())
	})
}
