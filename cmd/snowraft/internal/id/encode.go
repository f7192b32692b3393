package id

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/snowflake"
)

// encoded is an ID in some encoding.
type encoded struct {
	ID       uint64 `json:"id,string"`
	Encoding string `json:"encoding"`
	Text     string `json:"text"`
}

// partFlags are the flags with the fields of an ID to encode.
type partFlags struct {
	own          cli.OwnLayout
	layout, time string
	parts        snowflake.Parts
}

// NewEncode returns the command encode.
func NewEncode(a *cli.App) *cobra.Command {
	var (
		from, to snowflake.Encoding
		fields   partFlags
	)
	cmd := &cobra.Command{
		Use:   "encode [ID]",
		Short: "Encode an ID, or build one from its fields",
		Long: `Encode an ID, or build one from its fields.

With ID, print it in another encoding: --from is the encoding of ID, and --encoding
that of the output. ID may be a UUID of "snowraft id --uuid"; --layout is its layout.

Without ID, build one from --time or --tick, and from --worker, --datacenter and
--sequence, which default to 0. Use such IDs as the bounds of a time range in a
database: with --time alone, no ID of that time or later is lower. Never use one as a
new ID, because the cluster may issue it to another client.

The command needs no cluster. The layout is one of the presets:
` + cli.Either(cli.PresetNames()) + `;
or --fields and --epoch describe it.`,
		Example: `  snowraft encode 132271570944028672 --encoding base58
  snowraft encode 1d5ec4b00007000 --from hex
  snowraft encode 019b76da-a800-701c-8000-3f3a1d4c5b6e
  snowraft encode --time 2026-01-01T00:00:00Z
  snowraft encode --layout discord --time 1462015105796 --datacenter 1 \
    --sequence 7
  snowraft encode --time 2026-01-01T00:00:00Z --epoch 2020-01-01T00:00:00Z \
    --fields time:41,worker:12,sequence:10`,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	cli.AddFlag(cmd, "", "encoding", "", cli.EncodingValue(&to), "output encoding: "+cli.Either(cli.EncodingNames()))
	cli.AddFlag(cmd, "With an ID", "from", "", cli.EncodingValue(&from), "encoding of ID")
	a.AddLayoutFlag(cmd, &fields.layout, cli.PresetNames()...).Usage = "name of the layout of a UUID, or of the fields"
	field := func(name string, v *cli.Value, help string) { cli.AddFlag(cmd, "Without an ID", name, "", v, help) }
	field("time", cli.TextValue(&fields.time, "TIME"), "time, as RFC 3339 or Unix milliseconds; rounded down to a tick")
	field("tick", tickValue(&fields.parts.Tick), "number of ticks since the layout's epoch, instead of --time")
	field("datacenter", cli.UintValue(&fields.parts.Datacenter, 0), "value of the datacenter field")
	field("worker", cli.UintValue(&fields.parts.Worker, 0), "value of the worker field")
	field("sequence", cli.UintValue(&fields.parts.Sequence, 0), "value of the sequence field")
	fields.own.AddFlags(cmd, "A layout of your own", "a layout of your own")
	return a.Command(cmd, func(_ context.Context, out *cli.Printer, args []string) error {
		var id uint64
		var err error
		if len(args) == 1 {
			for _, name := range []string{"time", "tick", "datacenter", "worker", "sequence"} {
				if flags.Changed(name) {
					return cli.Usagef("--%s cannot be combined with ID", name)
				}
			}
			g := given{encoding: from, layout: func() (*snowflake.Layout, error) { return fields.known(flags) }}
			if flags.Changed("from") {
				g.explicit = "from"
			}
			var uuid string
			if id, uuid, err = g.id(args[0]); err != nil {
				return err
			}
			for _, name := range []string{"layout", "fields", "epoch", "unit"} {
				if uuid == "" && flags.Changed(name) {
					return cli.Usagef("--%s cannot be combined with an ID that is not a UUID", name)
				}
			}
		} else {
			if flags.Changed("from") {
				return cli.Usagef("--from requires ID; add ID or remove --from")
			}
			if id, err = fields.pack(flags); err != nil {
				return err
			}
		}
		e := encoded{ID: id, Encoding: to.String(), Text: to.Encode(id)}
		return out.Answer(e, cli.Line("%s", e.Text))
	})
}

func (f *partFlags) known(flags *pflag.FlagSet) (*snowflake.Layout, error) {
	if own, err := f.own.Layout(flags); own != nil || err != nil {
		return own, err
	}
	return cli.Preset(f.layout, "describe another layout with --fields and --epoch")
}

// pack returns the ID with the fields of the flags.
func (f *partFlags) pack(flags *pflag.FlagSet) (uint64, error) {
	tickGiven := flags.Changed("tick")
	layout, err := f.known(flags)
	if err != nil {
		return 0, err
	}
	switch {
	case tickGiven && f.time != "":
		return 0, cli.Usagef("--time cannot be combined with --tick")
	case !tickGiven && f.time == "":
		return 0, cli.Usagef("encode: missing ID, --time or --tick; give exactly one of the three")
	case !tickGiven:
		ms, err := cli.ParseTime(f.time)
		if err != nil {
			return 0, cli.Usagef("--time %q: %v", f.time, err)
		}
		if ms < layout.MillisAt(0) || ms >= layout.ExhaustsAt() {
			return 0, cli.Usagef("--time %q: expected a time from %s to before %s in layout %q", f.time, cli.Stamp(layout.MillisAt(0)), cli.Stamp(layout.ExhaustsAt()), layout.Name())
		}
		f.parts.Tick = layout.TickAt(ms)
	}
	id, err := layout.Pack(f.parts)
	if err != nil {
		return 0, cli.Usagef("%s", cli.Plain(err))
	}
	return id, nil
}

func tickValue(p *int64) *cli.Value {
	expects := fmt.Sprintf("a whole number from 0 to %d", math.MaxInt64)
	return &cli.Value{Kind: "N", Expects: expects, Text: func() string { return strconv.FormatInt(*p, 10) }, Parse: func(s string) bool {
		tick, err := strconv.ParseInt(s, 10, 64)
		*p = tick
		return err == nil && tick >= 0
	}}
}
