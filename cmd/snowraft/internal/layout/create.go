package layout

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// specFlags describe the layout to create.
type specFlags struct {
	cli.OwnLayout

	preset             string
	datacenter, spread uint64
	leaseOnly, past    bool
}

func newCreate(a *cli.App) *cobra.Command {
	f := specFlags{OwnLayout: cli.OwnLayout{Epoch: time.UnixMilli(snowflake.Default().Spec().EpochMillis).UTC().Format(time.RFC3339)}}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a layout",
		Long: `Create a layout from --fields, which have at most 63 bits, or from a --preset:
` + cli.Either(cli.PresetNames()) + `.
A preset of 64 bits, without a worker or with an exhausted time field can only decode
IDs, and cannot be created. A layout with --lease-only, such as the presets cap and tsid,
has workers for programs that make IDs of their own: it may have 64 bits, with the time in
any place, and the cluster issues no IDs of it. Creating an identical layout again succeeds. Creating a
different one under an existing name fails, because layouts never change.

A name has 1 to 64 characters of a-z, 0-9, '.', '_' and '-'.`,
		Example: `  snowraft layout create orders --fields time:41,worker:12,sequence:10
  snowraft layout create slow --fields time:39,worker:16,sequence:8 \
    --unit 10ms --epoch 2026-01-01T00:00:00Z
  snowraft layout create tweets --preset twitter --datacenter 3`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.AddFlags(cmd, "", "the layout")
	cli.AddFlag(cmd, "", "preset", "", cli.ChoiceValue(&f.preset, cli.PresetNames()...), "well-known layout to take fields, unit, epoch and spread from").Value.(*cli.Value).Kind = "NAME"
	cli.AddFlag(cmd, "", "datacenter", "", cli.UintValue(&f.datacenter, 0), "value of the datacenter field in every ID of this cluster")
	cli.AddFlag(cmd, "", "spread", "", cli.UintValue(&f.spread, 0), "number of sequences at which a tick can start; 0 starts every tick at 0 (default: a quarter of the sequence field, at least 64)")
	flags.BoolVar(&f.past, "past", false, "keep the time from the epoch to now for backfill jobs, which issue IDs for imported rows")
	flags.BoolVar(&f.leaseOnly, "lease-only", false, "lease workers to other programs, and issue no IDs")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		spec, err := f.spec(args[0], flags)
		if err != nil {
			return err
		}
		resp, err := r.Layouts.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)})
		if err != nil {
			return err
		}
		return show(out, resp)
	})
}

// spec returns the layout that the flags describe. It checks everything that can be
// checked without a clock.
func (f *specFlags) spec(name string, flags *pflag.FlagSet) (snowflake.Spec, error) {
	spec, err := f.base(flags)
	if err != nil {
		return spec, err
	}
	spec.Name = name
	if flags.Changed("datacenter") {
		spec.Datacenter = f.datacenter
	}
	if flags.Changed("spread") {
		spec.Spread = f.spread
	}
	if f.leaseOnly {
		spec.LeaseOnly, spec.Spread = true, 0
	}
	spec.Past = f.past
	layout, err := snowflake.New(spec)
	if err == nil {
		// At its own epoch a layout is neither too early nor full.
		err = layout.CanLease(spec.EpochMillis)
	}
	if err != nil {
		return spec, cli.Usagef("layout %q: %s", name, cli.Plain(err))
	}
	return spec, nil
}

// base returns the layout that --preset, or --fields with --unit and --epoch, describe.
func (f *specFlags) base(flags *pflag.FlagSet) (snowflake.Spec, error) {
	if f.preset != "" {
		for _, other := range []string{"fields", "unit", "epoch"} {
			if flags.Changed(other) {
				return snowflake.Spec{}, cli.Usagef("--%s cannot be combined with --preset", other)
			}
		}
		layout, err := cli.Preset(f.preset, "")
		return layout.Spec(), err
	}
	if f.Fields == "" {
		return snowflake.Spec{}, cli.Usagef("layout create: missing --fields or --preset; set one of them")
	}
	return f.Spec()
}
