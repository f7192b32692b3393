package worker

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// workerDoc is a worker in the list: the end of its last window is its high-water.
type workerDoc struct {
	Grant
	HighWater     int64  `json:"high_water,string"`
	HighWaterTime string `json:"high_water_time"`
}

func newList(a *cli.App) *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workers that were ever granted",
		Long: `Lists the workers of a layout that were ever granted, in ascending order, with
their holder and their high-water: the end of the last window granted. A worker
is free when its high-water is not after now.

The states: held, its window reaches beyond now; expired, its window ended
without a release; released, its holder gave it back.`,
		Example: `  snowraft worker list
  snowraft worker list --layout orders -o json`,
		Args: cli.Args(),
	}
	cli.AddLayoutFlag(cmd, &layout).Usage = "the layout whose workers are listed"
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		doc := struct {
			Layout   string      `json:"layout"`
			Capacity uint64      `json:"capacity,string"`
			Used     uint64      `json:"used,string"`
			Workers  []workerDoc `json:"workers"`
		}{Layout: layout, Workers: []workerDoc{}}
		err := cli.Pages(func(token string) (string, error) {
			resp, err := r.Workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: layout, PageSize: cli.PageSize, PageToken: token})
			doc.Capacity, doc.Used = resp.GetCapacity(), resp.GetUsed()
			for _, w := range resp.GetWorkers() {
				g := NewGrant(w)
				doc.Workers = append(doc.Workers, workerDoc{Grant: g, HighWater: g.Until, HighWaterTime: g.UntilTime})
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return out.Answer(doc,
			cli.Table(doc.Workers,
				cli.Column("WORKER", func(w workerDoc) string { return cli.Decimal(w.Worker) }),
				cli.Column("STATE", func(w workerDoc) string { return w.State }),
				cli.Column("HOLDER", func(w workerDoc) string { return w.Holder }),
				cli.Column("TOKEN", func(w workerDoc) string { return cli.Decimal(w.Token) }),
				cli.Column("FROM", func(w workerDoc) string { return w.FromTime }),
				cli.Column("HIGH-WATER", func(w workerDoc) string { return w.HighWaterTime }),
			),
			cli.Line("%d of %d workers of layout %s were ever granted.", doc.Used, doc.Capacity, layout))
	})
}
