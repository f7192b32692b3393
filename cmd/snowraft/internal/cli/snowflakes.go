package cli

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/snowflake"
)

// AddLayoutFlag adds the flag that names a layout. Shells offer the suggestions and the layouts of the cluster.
func (a *App) AddLayoutFlag(cmd *cobra.Command, layout *string, suggestions ...string) *pflag.Flag {
	*layout = snowflake.Default().Name()
	f := AddFlag(cmd, "", "layout", "l", WordsValue(layout, "NAME"), "name of the layout")
	// The only possible error is that the flag was registered before. AddFlag has refused that.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names := append(a.offered(cmd, begin, Layouts), suggestions...)
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	})
	return f
}

// Preset returns the preset with the given name. The error is a usage error that ends with hint, an
// alternative for the user.
func Preset(name, hint string) (*snowflake.Layout, error) {
	layout, ok := snowflake.Preset(name)
	if !ok {
		return nil, Usagef("--layout %q: expected the preset %s; %s", name, Either(PresetNames()), hint)
	}
	return layout, nil
}

// PresetNames lists the presets.
func PresetNames() []string { return Map((*snowflake.Layout).Name, snowflake.Presets()) }

// EncodingNames lists the encodings of IDs.
func EncodingNames() []string { return Map(snowflake.Encoding.String, snowflake.Encodings()) }

// EncodingValue returns a value that accepts the name of an encoding of IDs.
func EncodingValue(p *snowflake.Encoding) *Value {
	return &Value{
		Kind: "NAME", Expects: Either(EncodingNames()), Among: EncodingNames(),
		Text: p.String,
		Parse: func(s string) bool {
			var err error
			*p, err = snowflake.ParseEncoding(s)
			return err == nil
		},
	}
}

// ParseTime parses an instant, written in Unix milliseconds or as RFC 3339, and returns it in Unix
// milliseconds.
func ParseTime(s string) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if leap := leapSecond.FindStringSubmatch(s); err != nil && leap != nil {
		t, err = time.Parse(time.RFC3339, leap[1]+":59"+leap[2])
		t = t.Add(time.Second)
	}
	if err != nil {
		return 0, errors.New("expected RFC 3339 such as 2026-01-01T00:00:00Z, or Unix milliseconds")
	}
	return t.UnixMilli(), nil
}

// leapSecond matches an instant in a leap second, whose end is the next minute's start: Unix time has no leap seconds.
var leapSecond = regexp.MustCompile(`^(.*T\d\d:\d\d):60(?:\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// TickValue returns a value that accepts the length of a tick. A tick of less than 1 ms is a whole part of it.
func TickValue(p *time.Duration) *Value {
	expects := "a duration from 1us to 1h in whole milliseconds, or a whole part of 1ms, such as 10us"
	return &Value{Kind: "DURATION", Expects: expects, Text: func() string { return human(*p) }, Parse: func(s string) bool {
		d, err := time.ParseDuration(s)
		*p = d
		return err == nil && d >= time.Microsecond && d <= time.Hour && (d%time.Millisecond == 0 || time.Millisecond%d == 0)
	}}
}

// OwnLayout describes a layout by its fields, without a cluster.
type OwnLayout struct {
	Fields, Epoch string
	Unit          time.Duration
}

// AddFlags adds the flags of the description below a heading. whose names the layout in help. Epoch is the default of its flag.
func (o *OwnLayout) AddFlags(cmd *cobra.Command, heading, whose string) {
	o.Unit = time.Millisecond
	epoch := "instant of its tick 0, as RFC 3339 or Unix milliseconds"
	if o.Epoch == "" {
		epoch += "; required with --fields"
	}
	AddFlag(cmd, heading, "fields", "", TextValue(&o.Fields, "FIELDS"), "fields of "+whose+", from the highest bits to the lowest, with their widths: time, datacenter, worker and sequence")
	AddFlag(cmd, heading, "epoch", "", TextValue(&o.Epoch, "TIME"), epoch)
	AddFlag(cmd, heading, "unit", "", TickValue(&o.Unit), "length of its tick")
}

// Layout returns the layout that the flags describe; nil without --fields.
func (o *OwnLayout) Layout(flags *pflag.FlagSet) (*snowflake.Layout, error) {
	if o.Fields == "" {
		for _, name := range []string{"epoch", "unit"} {
			if flags.Changed(name) {
				return nil, Usagef("--%s requires --fields", name)
			}
		}
		return nil, nil
	}
	if flags.Changed("layout") {
		return nil, Usagef("--fields cannot be combined with --layout")
	}
	if o.Epoch == "" {
		return nil, Usagef("--fields: missing --epoch; give the instant of tick 0")
	}
	spec, err := o.Spec()
	if err != nil {
		return nil, err
	}
	spec.Name = "own"
	layout, err := snowflake.New(spec)
	if err != nil {
		return nil, Usagef("%s", Plain(err))
	}
	return layout, nil
}

// Spec returns the described layout without a name.
func (o *OwnLayout) Spec() (spec snowflake.Spec, err error) {
	spec = snowflake.Spec{UnitMillis: o.Unit.Milliseconds()}
	if o.Unit < time.Millisecond {
		spec.UnitMillis, spec.TicksPerMilli = 1, int64(time.Millisecond/o.Unit)
	}
	if spec.Fields, err = snowflake.ParseFields(o.Fields); err != nil {
		return spec, Usagef("--fields %q: %s", o.Fields, Plain(err))
	}
	if spec.EpochMillis, err = ParseTime(o.Epoch); err != nil {
		return spec, Usagef("--epoch %q: %v", o.Epoch, err)
	}
	spec.Spread = snowflake.DefaultSpread(spec.Fields)
	return spec, nil
}

// Plain returns the text of an error without the name of package snowflake.
func Plain(err error) string { return rpc.Plain(err.Error()) }
