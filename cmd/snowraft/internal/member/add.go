package member

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newAdd(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "add GOSSIP-ADDR",
		Short: "Add a member that waits to be added",
		Long: `Makes the cluster contact a member that was started with --bootstrap-expect 0 and
no --join, at its gossip address, and waits until it is a member.`,
		Example: `  snowraft member add 10.0.0.4:7703`,
		Args:    cli.Args("GOSSIP-ADDR"),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if !cli.IsPeer(args[0]) {
			return cli.Usagef("GOSSIP-ADDR %q: expected host:port, such as 10.0.0.4:7703", args[0])
		}
		resp, err := r.Cluster.AddMember(ctx, &snowraftv1.AddMemberRequest{Address: args[0]})
		if err != nil {
			return err
		}
		return printChange(out, "added", resp.GetMember())
	})
}
