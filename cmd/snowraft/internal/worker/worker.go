// Package worker has the commands for workers, below the command that [New] returns.
package worker

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command worker.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "worker",
		Short: "Show the holders of workers, and run programs with a worker",
		Long: `Show the holders of workers, and run programs with a worker. A worker is a value of the
worker field of a layout. The cluster grants a window of time on a worker to one holder
at a time. Only this holder issues IDs in the window.`,
		Example: `  snowraft worker list
  snowraft worker run --env-worker WORKER -- ./app`,
	}, newList(a), newRun(a), newClaim(a), newGuard())
}

func newList(a *cli.App) *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the granted workers of a layout",
		Long: `List the granted workers of a layout in ascending order, with their holder and their
high-water, which is the end of the last window. A worker is free once its high-water
has passed.

States: held, with an open window; expired, with a window that ended without a
release; released, by its holder.`,
		Example: `  snowraft worker list
  snowraft worker list --layout orders -o json`,
	}
	a.AddLayoutFlag(cmd, &layout).Usage = "name of the layout"
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		list := &snowraftv1.ListWorkersResponse{}
		var err error
		list.Workers, err = cli.List(func(token string) ([]*snowraftv1.WorkerGrant, string, error) {
			resp, err := r.Workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: layout, PageSize: cli.PageSize, PageToken: token})
			list.Capacity, list.Used = resp.GetCapacity(), resp.GetUsed()
			return resp.GetWorkers(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return out.Answer(list,
			cli.Table(list.GetWorkers(), []string{"WORKER", "STATE", "HOLDER", "FENCING TOKEN", "FROM", "HIGH-WATER", "PROCESS"}, func(w *snowraftv1.WorkerGrant) []any {
				return []any{w.GetWorker(), cli.Word(w.GetState()), cli.Holder(w), w.GetToken(), cli.Stamp(w.GetFromAtMs()), cli.Stamp(w.GetUntilAtMs()), cli.Process(w)}
			}),
			cli.Line("%d of %d workers of layout %s were ever granted.", list.GetUsed(), list.GetCapacity(), layout))
	})
}
