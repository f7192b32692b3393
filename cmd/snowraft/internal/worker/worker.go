// Package worker has the commands of workers.
package worker

import (
	"context"
	"encoding/hex"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command worker.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "worker",
		Short: "Show the holders of workers",
		Long: `Show the holders of workers. A worker is a value of the worker field of a layout. The
cluster grants a window of time on a worker to one holder at a time, which alone
issues IDs in it.`,
		Example: `  snowraft worker list`,
	}, newList(a))
}

// workerDoc is a worker in the list: the end of its last window is its high-water.
type workerDoc struct {
	Grant
	HighWater     int64  `json:"high_water,string"`
	HighWaterTime string `json:"high_water_time"`
}

func newWorkerDoc(w *snowraftv1.WorkerGrant) workerDoc {
	g := NewGrant(w)
	return workerDoc{Grant: g, HighWater: g.Until, HighWaterTime: g.UntilTime}
}

func newList(a *cli.App) *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the granted workers of a layout",
		Long: `List the granted workers of a layout in ascending order, with their holder and their
high-water, which is the end of the last window. A worker is free
once its high-water has passed.

States: held, with an open window; expired, with a window that ended without a
release; released, by its holder.`,
		Example: `  snowraft worker list
  snowraft worker list --layout orders -o json`,
	}
	cli.AddLayoutFlag(cmd, &layout).Usage = "name of the layout"
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		doc := struct {
			Layout   string      `json:"layout"`
			Capacity uint64      `json:"capacity,string"`
			Used     uint64      `json:"used,string"`
			Workers  []workerDoc `json:"workers"`
		}{Layout: layout}
		var err error
		doc.Workers, err = cli.List(newWorkerDoc, func(token string) ([]*snowraftv1.WorkerGrant, string, error) {
			resp, err := r.Workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: layout, PageSize: cli.PageSize, PageToken: token})
			doc.Capacity, doc.Used = resp.GetCapacity(), resp.GetUsed()
			return resp.GetWorkers(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return out.Answer(doc,
			cli.Table(doc.Workers, []string{"WORKER", "STATE", "HOLDER", "TOKEN", "FROM", "HIGH-WATER"}, func(w workerDoc) []any {
				return []any{w.Worker, w.State, w.Holder, w.Token, w.FromTime, w.HighWaterTime}
			}),
			cli.Line("%d of %d workers of layout %s were ever granted.", doc.Used, doc.Capacity, layout))
	})
}

// Grant is a worker with the windows that were granted under its token.
type Grant struct {
	Worker    uint64 `json:"worker,string"`
	State     string `json:"state"`
	Holder    string `json:"holder"`
	Nonce     string `json:"nonce"`
	Token     uint64 `json:"token,string"`
	From      int64  `json:"from,string"`
	Until     int64  `json:"until,string"`
	FromTime  string `json:"from_time"`
	UntilTime string `json:"until_time"`
}

// NewGrant returns a grant as it is printed.
func NewGrant(g *snowraftv1.WorkerGrant) Grant {
	return Grant{
		Worker: g.GetWorker(), State: cli.EnumName(g.GetState().String(), "WORKER_STATE_"),
		Holder: g.GetHolder(), Nonce: hex.EncodeToString(g.GetNonce()), Token: g.GetToken(),
		From: g.GetFromTick(), Until: g.GetUntilTick(), FromTime: cli.Stamp(g.GetFromAtMs()), UntilTime: cli.Stamp(g.GetUntilAtMs()),
	}
}
