package cli

import (
	"errors"
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
	if err != nil {
		return 0, errors.New("expected RFC 3339 such as 2026-01-01T00:00:00Z, or Unix milliseconds")
	}
	return t.UnixMilli(), nil
}

// Plain returns the text of an error without the name of package snowflake.
func Plain(err error) string { return rpc.Plain(err.Error()) }
