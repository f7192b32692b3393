package apply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// spreadKey is the setting of a layout whose default follows from the fields.
const spreadKey = "spread"

var layoutSettings = []setting[*snowraftv1.Layout]{
	{"fields", "", "Fields from the highest bits to the lowest, with their widths, such as time:41,worker:12,sequence:10.", isText, fieldsOf},
	{"epoch", "", "Instant of tick 0, as RFC 3339 such as 2026-01-01T00:00:00Z, or Unix milliseconds.", isEither, func(m *snowraftv1.Layout) *cli.Value { return instantOf(&m.EpochAtMs, cli.Stamp) }},
	{"unit", "", "Length of a tick, such as 10ms. The default is 1ms.", isText, func(m *snowraftv1.Layout) *cli.Value { return millisOf(&m.UnitMs, time.Millisecond, time.Hour) }},
	{"datacenter", "", "Value of the datacenter field in every ID of the cluster.", isNumber, func(m *snowraftv1.Layout) *cli.Value { return cli.UintValue(&m.Datacenter, 0) }},
	{spreadKey, "", "Number of sequences at which a tick can start; 0 starts every tick at 0. The default is a quarter of the sequence field, at least 64.", isNumber,
		func(m *snowraftv1.Layout) *cli.Value { return cli.UintValue(&m.Spread, 0) }},
	{"lease-only", "", "Lease workers to other programs, and issue no IDs.", isSwitch, func(m *snowraftv1.Layout) *cli.Value { return cli.SwitchValue(&m.LeaseOnly) }},
	{"past", "", "Keep the time from the epoch to the creation for backfill jobs.", isSwitch, func(m *snowraftv1.Layout) *cli.Value { return cli.SwitchValue(&m.Past) }},
}

// fieldsOf returns the value of a layout's fields.
func fieldsOf(m *snowraftv1.Layout) *cli.Value {
	return &cli.Value{
		Kind: "FIELDS", Expects: "fields with their widths, such as time:41,worker:12,sequence:10",
		Text: func() string {
			return strings.Join(cli.Map(func(f *snowraftv1.Field) string { return fmt.Sprintf("%s:%d", cli.Word(f.GetKind()), f.GetBits()) }, m.GetFields()), ",")
		},
		Parse: func(s string) bool {
			fields, err := snowflake.ParseFields(s)
			m.Fields = rpc.Layout(snowflake.Spec{Fields: fields}).GetFields()
			return err == nil
		},
	}
}

// instantOf returns a value that accepts an instant and keeps Unix milliseconds.
func instantOf(p *int64, text func(int64) string) *cli.Value {
	return &cli.Value{
		Kind: "TIME", Expects: "a time as RFC 3339, such as 2026-01-01T00:00:00Z, or in Unix milliseconds",
		Text: func() string { return text(*p) },
		Parse: func(s string) bool {
			var err error
			*p, err = cli.ParseTime(s)
			return err == nil
		},
	}
}

// layouts are the layouts except the default one, which every cluster has. They never change, and stay.
type layouts struct{ *cli.Remote }

func (layouts) settings() []setting[*snowraftv1.Layout] { return layoutSettings }
func (layouts) fresh(name string) *snowraftv1.Layout    { return &snowraftv1.Layout{Name: name} }
func (layouts) numerous() bool                          { return false }
func (layouts) name(m *snowraftv1.Layout) string        { return m.GetName() }
func (layouts) kept(*snowraftv1.Layout) bool            { return true }
func (layouts) omitted(m *snowraftv1.Layout) bool       { return m.GetName() == snowflake.Default().Name() }

func (k layouts) section() section {
	return section{key: "layouts", about: "Layouts by name. A layout never changes, and is never deleted.", named: true, need: []string{"fields", "epoch"},
		keys: keys(layoutSettings, func() *snowraftv1.Layout { return &snowraftv1.Layout{} })}
}

func (k layouts) list(ctx context.Context) ([]*snowraftv1.Layout, error) {
	return cli.List(func(token string) ([]*snowraftv1.Layout, string, error) {
		resp, err := k.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: cli.PageSize, PageToken: token})
		return resp.GetLayouts(), resp.GetNextPageToken(), err
	})
}

func (k layouts) find(ctx context.Context, name string) (*snowraftv1.Layout, error) {
	resp, err := k.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	return resp.GetLayout(), err
}

func (k layouts) want(_ *planner, o object, asked, was *snowraftv1.Layout, exists bool) (*snowraftv1.Layout, string) {
	m, _ := k.complete(o, asked) // never fails
	if exists {
		if !equal(layoutSettings, m, was) {
			return m, "layouts never change; choose another name"
		}
		return m, ""
	}
	asked.UnitMs, asked.Spread = m.GetUnitMs(), m.GetSpread() // members have no defaults for them
	layout, err := snowflake.New(rpc.Spec(m))
	if err == nil {
		err = layout.CanLease(m.GetEpochAtMs()) // at its own epoch a layout is neither too early nor full
	}
	if err != nil {
		return m, cli.Plain(err)
	}
	return m, ""
}

func (layouts) complete(o object, m *snowraftv1.Layout) (*snowraftv1.Layout, error) {
	m = proto.CloneOf(m)
	m.UnitMs = cmp.Or(m.GetUnitMs(), 1)
	if _, given := o.given[spreadKey]; !given && !m.GetLeaseOnly() {
		m.Spread = snowflake.DefaultSpread(rpc.Spec(m).Fields)
	}
	return m, nil
}

func (k layouts) create(ctx context.Context, m *snowraftv1.Layout) ([]string, error) {
	_, err := k.Layouts.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: m})
	return nil, err
}

// update is never called, because want refuses all changes.
func (layouts) update(context.Context, *snowraftv1.Layout, *snowraftv1.Layout, []string) ([]string, error) {
	return nil, fmt.Errorf("layouts never change")
}

// remove is never called, because all layouts are kept.
func (layouts) remove(context.Context, *snowraftv1.Layout) ([]string, error) {
	return nil, fmt.Errorf("layouts are never deleted")
}
