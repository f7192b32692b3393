package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newRemove(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove NAME|ID",
		Short: "Remove a member for ever",
		Long: `Removes a member from the cluster for ever: it can only come back with an empty
data directory, as a new member. Use it for a member that is lost; one that runs
can leave by itself (see "snowraft leave").

A removal after which no majority of the voters would be alive is refused unless
--force is given.`,
		Example: `  snowraft member remove c
  snowraft member remove 7a1f6c1e-8f0e-4c1b-9d0a-0d5c3a3f9b11 --force`,
		Args: cli.Args("NAME|ID"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if no majority of the voters would be alive")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Cluster.RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: args[0], Force: force})
		if err != nil {
			return err
		}
		return printChange(out, "removed", resp.GetMember())
	})
}
