package layout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "get NAME",
		Short: "Show a layout",
		Long:  `Shows a layout of the cluster, and when its time field will be full.`,
		Example: `  snowraft layout get default
  snowraft layout get orders -o json`,
		Args: cli.Args("NAME"),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: args[0]})
		if err != nil {
			return err
		}
		return show(out, resp.GetLayout())
	})
}
