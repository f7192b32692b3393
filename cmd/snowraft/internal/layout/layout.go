// Package layout has the commands for layouts, below the command that [New] returns.
package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command layout.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "layout",
		Short: "Create, check and show layouts",
		Long: `Create, check and show layouts. A layout defines the split of an ID's bits, the length of a
tick and the instant of tick 0. All members know it, and it never changes. Every
cluster has the layout "default".`,
		Example: `  snowraft layout list
  snowraft layout create orders --fields time:41,worker:12,sequence:10`,
	}, newCreate(a), newCheck(a), newGet(a), newList(a))
}

// fields returns the fields of a layout in the form that --fields accepts.
func fields(l *snowraftv1.Layout) string {
	return strings.Join(cli.Map(func(f *snowraftv1.Field) string {
		return fmt.Sprintf("%s:%d", cli.Word(f.GetKind()), f.GetBits())
	}, l.GetFields()), ",")
}

// show prints the layout in a response.
func show(p *cli.Printer, resp interface{ GetLayout() *snowraftv1.Layout }) error {
	l := resp.GetLayout()
	return p.Answer(resp, cli.Record(
		"Name", l.GetName(),
		"Fields", fields(l),
		"Tick", cli.Milliseconds(l.GetUnitMs()),
		"Epoch", cli.Stamp(l.GetEpochAtMs()),
		"Datacenter", l.GetDatacenter(),
		"Spread", l.GetSpread(),
		"Exhausts at", cli.Stamp(l.GetExhaustsAtMs()),
		"Lease only", cli.TextIf(l.GetLeaseOnly(), "yes"),
		"Past", cli.TextIf(l.GetPast(), "for backfill jobs"),
	))
}

func newGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		ValidArgsFunction: a.CompleteFirst(cli.Layouts),

		Use:   "get NAME",
		Short: "Show a layout",
		Long:  `Show a layout of the cluster, and the instant at which its time field is exhausted.`,
		Example: `  snowraft layout get default
  snowraft layout get orders -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: args[0]})
		if err != nil {
			return err
		}
		return show(out, resp)
	})
}

func newList(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "list",
		Short: "List the layouts",
		Long: `List the layouts of the cluster, and the instants at which their time fields are
exhausted.`,
		Example: `  snowraft layout list
  snowraft layout list -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		layouts, err := cli.List(func(token string) ([]*snowraftv1.Layout, string, error) {
			resp, err := r.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: cli.PageSize, PageToken: token})
			return resp.GetLayouts(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"NAME", "FIELDS", "TICK", "EPOCH", "DATACENTER", "SPREAD", "EXHAUSTS AT", "LEASE ONLY"}
		return out.Answer(&snowraftv1.ListLayoutsResponse{Layouts: layouts}, cli.Table(layouts, heading, func(l *snowraftv1.Layout) []any {
			return []any{
				l.GetName(), fields(l), cli.Milliseconds(l.GetUnitMs()), cli.Stamp(l.GetEpochAtMs()),
				l.GetDatacenter(), l.GetSpread(), cli.Stamp(l.GetExhaustsAtMs()), cli.TextIf(l.GetLeaseOnly(), "yes"),
			}
		}))
	})
}
