package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newConfigGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "get",
		Short: "Show the configuration of the cluster",
		Long:  `Shows the replicated configuration of the cluster.`,
		Example: `  snowraft config get
  snowraft config get -o json`,
		Args: cli.Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
		if err != nil {
			return err
		}
		return showConfig(out, resp.GetConfig())
	})
}
