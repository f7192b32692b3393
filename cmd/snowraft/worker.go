package main

import (
	"context"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// workerDoc is a worker in the list: the end of its last window is its high-water.
type workerDoc struct {
	grantDoc
	HighWater     int64  `json:"high_water,string"`
	HighWaterTime string `json:"high_water_time"`
}

func (a *app) workerCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "worker",
		Short: "Show who holds which worker",
		Long: `A worker is a number in the worker field of a layout. One holder at a time is
granted a window of time on it, within which it alone issues IDs.`,
		Example: `  snowraft worker list`,
	}, a.workerListCommand())
}

func (a *app) workerListCommand() *cobra.Command {
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
		Args: arguments(),
	}
	addLayoutFlag(cmd, &layout).Usage = "the layout whose workers are listed"
	return a.client(cmd, func(ctx context.Context, r *remote, _ []string) error {
		doc := struct {
			Layout   string      `json:"layout"`
			Capacity uint64      `json:"capacity,string"`
			Used     uint64      `json:"used,string"`
			Workers  []workerDoc `json:"workers"`
		}{Layout: layout, Workers: []workerDoc{}}
		err := pages(func(token string) (string, error) {
			resp, err := r.workers().ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: layout, PageSize: pageSize, PageToken: token})
			doc.Capacity, doc.Used = resp.GetCapacity(), resp.GetUsed()
			for _, w := range resp.GetWorkers() {
				g := newGrantDoc(w)
				doc.Workers = append(doc.Workers, workerDoc{grantDoc: g, HighWater: g.Until, HighWaterTime: g.UntilTime})
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return r.out.answer(doc,
			table(doc.Workers,
				column[workerDoc]{"WORKER", func(w workerDoc) string { return decimal(w.Worker) }},
				column[workerDoc]{"STATE", func(w workerDoc) string { return w.State }},
				column[workerDoc]{"HOLDER", func(w workerDoc) string { return w.Holder }},
				column[workerDoc]{"TOKEN", func(w workerDoc) string { return decimal(w.Token) }},
				column[workerDoc]{"FROM", func(w workerDoc) string { return w.FromTime }},
				column[workerDoc]{"HIGH-WATER", func(w workerDoc) string { return w.HighWaterTime }},
			),
			line("%d of %d workers of layout %s were ever granted.", doc.Used, doc.Capacity, layout))
	})
}
