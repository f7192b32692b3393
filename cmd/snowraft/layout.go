package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

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
	d := layoutDoc{
		Name: l.GetName(), Fields: []fieldDoc{}, UnitMS: l.GetUnitMs(), Epoch: stamp(l.GetEpochMs()),
		Datacenter: l.GetDatacenter(), Spread: l.GetSpread(), ExhaustsAt: stamp(l.GetExhaustsAtMs()),
	}
	for i, f := range l.GetFields() {
		kind := enumName(f.GetKind().String(), "FIELD_KIND_")
		d.Fields = append(d.Fields, fieldDoc{Kind: kind, Bits: f.GetBits()})
		if i > 0 {
			d.fields += ","
		}
		d.fields += kind + ":" + strconv.FormatUint(uint64(f.GetBits()), 10)
	}
	return d
}

func (a *app) layoutCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "layout",
		Short: "Create and show layouts",
		Long: `A layout says how the bits of an ID are split, how long a tick is and when tick 0
was. It is known to all members and never changes once it is created. Every
cluster has the layout "default".`,
		Example: `  snowraft layout list
  snowraft layout create orders --fields time:41,worker:12,sequence:10`,
	}, a.layoutCreateCommand(), a.layoutGetCommand(), a.layoutListCommand())
}

func (a *app) layoutGetCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "get NAME",
		Short: "Show a layout",
		Long:  `Shows a layout of the cluster, and when its time field will be full.`,
		Example: `  snowraft layout get default
  snowraft layout get orders -o json`,
		Args: arguments("NAME"),
	}, func(ctx context.Context, r *remote, args []string) error {
		resp, err := r.layouts().GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: args[0]})
		if err != nil {
			return err
		}
		return r.out.layout(resp.GetLayout())
	})
}

func (a *app) layoutListCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "list",
		Short: "List the layouts",
		Long:  `Lists the layouts of the cluster, and when the time field of each will be full.`,
		Example: `  snowraft layout list
  snowraft layout list -o json`,
		Args: arguments(),
	}, func(ctx context.Context, r *remote, _ []string) error {
		doc := struct {
			Layouts []layoutDoc `json:"layouts"`
		}{Layouts: []layoutDoc{}}
		err := pages(func(token string) (string, error) {
			resp, err := r.layouts().ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: pageSize, PageToken: token})
			for _, l := range resp.GetLayouts() {
				doc.Layouts = append(doc.Layouts, newLayoutDoc(l))
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return r.out.answer(doc, table(doc.Layouts,
			column[layoutDoc]{"NAME", func(l layoutDoc) string { return l.Name }},
			column[layoutDoc]{"FIELDS", func(l layoutDoc) string { return l.fields }},
			column[layoutDoc]{"TICK", func(l layoutDoc) string { return milliseconds(l.UnitMS) }},
			column[layoutDoc]{"EPOCH", func(l layoutDoc) string { return l.Epoch }},
			column[layoutDoc]{"DATACENTER", func(l layoutDoc) string { return decimal(l.Datacenter) }},
			column[layoutDoc]{"SPREAD", func(l layoutDoc) string { return decimal(l.Spread) }},
			column[layoutDoc]{"EXHAUSTS AT", func(l layoutDoc) string { return l.ExhaustsAt }},
		))
	})
}

// layout prints one layout.
func (p *printer) layout(l *snowraftv1.Layout) error {
	d := newLayoutDoc(l)
	return p.answer(d, record(
		pair{"Name", d.Name},
		pair{"Fields", d.fields},
		pair{"Tick", milliseconds(d.UnitMS)},
		pair{"Epoch", d.Epoch},
		pair{"Datacenter", decimal(d.Datacenter)},
		pair{"Spread", decimal(d.Spread)},
		pair{"Exhausts at", d.ExhaustsAt},
	))
}
