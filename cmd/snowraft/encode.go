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
		{"tick", tickValue(&fields.parts.Tick), "the ticks since the layout's epoch, instead of --time"},
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
				return usagef("%s", plain(err))
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
	case !tickGiven:
		ms, err := parseTime(f.time)
		if err != nil {
			return 0, usagef("--time %q: %v", f.time, err)
		}
		if ms < layout.MillisAt(0) || ms >= layout.ExhaustsAt() {
			return 0, usagef("--time %q: expected from %s to before %s in layout %q", f.time, stamp(layout.MillisAt(0)), stamp(layout.ExhaustsAt()), layout.Name())
		}
		f.parts.Tick = layout.TickAt(ms)
	}
	id, err := layout.Pack(f.parts)
	if err != nil {
		return 0, usagef("%s", plain(err))
	}
	return id, nil
}

func tickValue(p *int64) *value {
	return &value{kind: "N", expects: "a whole number from 0", text: func() string { return strconv.FormatInt(*p, 10) }, parse: func(s string) bool {
		tick, err := strconv.ParseInt(s, 10, 64)
		*p = tick
		return err == nil && tick >= 0
	}}
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
