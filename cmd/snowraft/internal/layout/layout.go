// Package layout has the commands of layouts.
package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// layoutDoc is a layout as it is printed.
type layoutDoc struct {
	Name       string     `json:"name"`
	Fields     []fieldDoc `json:"fields"`
	UnitMS     int64      `json:"unit_ms,string"`
	Epoch      string     `json:"epoch"`
	Datacenter uint64     `json:"datacenter,string"`
	Spread     uint64     `json:"spread,string"`
	ExhaustsAt string     `json:"exhausts_at"`
	fields     string
}

type fieldDoc struct {
	Kind string `json:"kind"`
	Bits uint32 `json:"bits"`
}

func newLayoutDoc(l *snowraftv1.Layout) layoutDoc {
	fields := cli.Map(func(f *snowraftv1.Field) fieldDoc {
		return fieldDoc{Kind: cli.EnumName(f.GetKind().String(), "FIELD_KIND_"), Bits: f.GetBits()}
	}, l.GetFields())
	return layoutDoc{
		Name: l.GetName(), Fields: fields, UnitMS: l.GetUnitMs(), Epoch: cli.Stamp(l.GetEpochAtMs()),
		Datacenter: l.GetDatacenter(), Spread: l.GetSpread(), ExhaustsAt: cli.Stamp(l.GetExhaustsAtMs()),
		fields: strings.Join(cli.Map(func(f fieldDoc) string { return fmt.Sprintf("%s:%d", f.Kind, f.Bits) }, fields), ","),
	}
}

// New returns the command layout.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "layout",
		Short: "Create and show layouts",
		Long: `Create and show layouts. A layout defines the split of an ID's bits, the length of a
tick and the instant of tick 0. All members know it, and it never changes. Every
cluster has the layout "default".`,
		Example: `  snowraft layout list
  snowraft layout create orders --fields time:41,worker:12,sequence:10`,
	}, newCreate(a), newGet(a), newList(a))
}

// show prints one layout.
func show(p *cli.Printer, l *snowraftv1.Layout) error {
	d := newLayoutDoc(l)
	return p.Answer(d, cli.Record(
		"Name", d.Name,
		"Fields", d.fields,
		"Tick", cli.Milliseconds(d.UnitMS),
		"Epoch", d.Epoch,
		"Datacenter", d.Datacenter,
		"Spread", d.Spread,
		"Exhausts at", d.ExhaustsAt,
	))
}

func newGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
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
		return show(out, resp.GetLayout())
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
		layouts, err := cli.List(newLayoutDoc, func(token string) ([]*snowraftv1.Layout, string, error) {
			resp, err := r.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: cli.PageSize, PageToken: token})
			return resp.GetLayouts(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"NAME", "FIELDS", "TICK", "EPOCH", "DATACENTER", "SPREAD", "EXHAUSTS AT"}
		return out.Answer(map[string]any{"layouts": layouts}, cli.Table(layouts, heading, func(l layoutDoc) []any {
			return []any{l.Name, l.fields, cli.Milliseconds(l.UnitMS), l.Epoch, l.Datacenter, l.Spread, l.ExhaustsAt}
		}))
	})
}
