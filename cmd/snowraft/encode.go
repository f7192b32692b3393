package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/snowflake"
)

// encoded is an ID in some encoding.
type encoded struct {
	ID       uint64 `json:"id,string"`
	Encoding string `json:"encoding"`
	Text     string `json:"text"`
}

// partFlags are the fields of an ID to put together.
type partFlags struct {
	layout, time string
	tick         uint64
	parts        snowflake.Parts
}

func (a *app) encodeCommand() *cobra.Command {
	var (
		from, to snowflake.Encoding
		fields   partFlags
	)
	cmd := &cobra.Command{
		Use:   "encode [ID]",
		Short: "Write an ID in another encoding, or put one together",
		Long: `With an ID, writes it in another encoding: --from says how it is written, --encoding
how it shall be.

Without an ID, puts one together from its fields: --time or --tick, and --worker,
--datacenter and --sequence, which are 0 if not given. This finds the bounds of a
time range in a database, for example: the first ID of a day has worker and
sequence 0. Such an ID was not issued and can be somebody else's: never use it
as a new one.

This needs no cluster. The layout is one of the presets:
` + either(presetNames()) + `.`,
		Example: `  snowraft encode 132271570944028672 --encoding base58
  snowraft encode 1d5ec4b00007000 --from hex
  snowraft encode --time 2026-01-01T00:00:00Z
  snowraft encode --layout discord --time 1462015105796 --datacenter 1 --sequence 7`,
		Args: arguments("[ID]"),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	addFlag(cmd, "", "encoding", "", encodingValue(&to), "how the ID shall be written: "+either(encodingNames()))
	addFlag(cmd, "With an ID", "from", "", encodingValue(&from), "how the ID is written")
	addLayoutFlag(cmd, &fields.layout, presetNames()...).Annotations = map[string][]string{flagGroup: {"Without an ID"}}
	for _, f := range []struct {
		name string
		v    *value
		help string
	}{
		{"time", textValue(&fields.time, "TIME"), "the time, as RFC 3339 or Unix milliseconds; rounded down to a tick"},
		{"tick", uintValue(&fields.tick, 0), "the ticks since the layout's epoch, instead of --time"},
		{"datacenter", uintValue(&fields.parts.Datacenter, 0), "the datacenter"},
		{"worker", uintValue(&fields.parts.Worker, 0), "the worker"},
		{"sequence", uintValue(&fields.parts.Sequence, 0), "the sequence"},
	} {
		addFlag(cmd, "Without an ID", f.name, "", f.v, f.help)
	}
	return a.offline(cmd, func(out *printer, args []string) error {
		var id uint64
		var err error
		if len(args) == 1 {
			for _, name := range []string{"layout", "time", "tick", "datacenter", "worker", "sequence"} {
				if flags.Changed(name) {
					return usagef("--%s: expected either an ID or fields, not both", name)
				}
			}
			if id, err = from.Decode(args[0]); err != nil {
				return usagef("ID %q: %s", args[0], plain(err))
			}
		} else {
			if flags.Changed("from") {
				return usagef("--from: expected only together with an ID")
			}
			if id, err = fields.pack(flags.Changed("tick")); err != nil {
				return err
			}
		}
		e := encoded{ID: id, Encoding: to.String(), Text: to.Encode(id)}
		return out.answer(e, line("%s", e.Text))
	})
}

// pack puts the fields together.
func (f *partFlags) pack(tickGiven bool) (uint64, error) {
	layout, err := preset(f.layout, "other layouts are known to their cluster only")
	if err != nil {
		return 0, err
	}
	switch {
	case tickGiven == (f.time != ""):
		return 0, usagef("encode: expected an ID, or one of --time and --tick")
	case tickGiven:
		// A tick that is no int64 fits no layout; Pack would see a negative one.
		if f.tick >= layout.Ticks() {
			return 0, usagef("--tick \"%d\": expected 0 to %d in layout %q", f.tick, layout.Ticks()-1, layout.Name())
		}
		f.parts.Tick = int64(f.tick)
	default:
		ms, err := parseTime(f.time)
		if err != nil {
			return 0, usagef("--time %q: %v", f.time, err)
		}
		f.parts.Tick = layout.TickAt(ms)
		if f.parts.Tick < 0 || uint64(f.parts.Tick) >= layout.Ticks() {
			return 0, usagef("--time %q: expected from %s to before %s in layout %q", f.time, stamp(layout.MillisAt(0)), stamp(layout.ExhaustsAt()), layout.Name())
		}
	}
	id, err := layout.Pack(f.parts)
	if err != nil {
		return 0, usagef("%s", plain(err))
	}
	return id, nil
}

// parseTime reads an instant, and returns it in Unix milliseconds.
func parseTime(s string) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, errors.New("expected RFC 3339 such as 2026-01-01T00:00:00Z, or Unix milliseconds")
	}
	return t.UnixMilli(), nil
}
