package layout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "list",
		Short: "List the layouts",
		Long:  `Lists the layouts of the cluster, and when the time field of each will be full.`,
		Example: `  snowraft layout list
  snowraft layout list -o json`,
		Args: cli.Args(),
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		doc := struct {
			Layouts []layoutDoc `json:"layouts"`
		}{Layouts: []layoutDoc{}}
		err := cli.Pages(func(token string) (string, error) {
			resp, err := r.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: cli.PageSize, PageToken: token})
			for _, l := range resp.GetLayouts() {
				doc.Layouts = append(doc.Layouts, newLayoutDoc(l))
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return out.Answer(doc, cli.Table(doc.Layouts,
			cli.Column("NAME", func(l layoutDoc) string { return l.Name }),
			cli.Column("FIELDS", func(l layoutDoc) string { return l.fields }),
			cli.Column("TICK", func(l layoutDoc) string { return cli.Milliseconds(l.UnitMS) }),
			cli.Column("EPOCH", func(l layoutDoc) string { return l.Epoch }),
			cli.Column("DATACENTER", func(l layoutDoc) string { return cli.Decimal(l.Datacenter) }),
			cli.Column("SPREAD", func(l layoutDoc) string { return cli.Decimal(l.Spread) }),
			cli.Column("EXHAUSTS AT", func(l layoutDoc) string { return l.ExhaustsAt }),
		))
	})
}
