package cluster

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// configDoc is what every member of a cluster agrees on.
type configDoc struct {
	MaxWindowMS      int64  `json:"max_window_ms,string"`
	WaitThresholdMS  int64  `json:"wait_threshold_ms,string"`
	MaxClockOffsetMS int64  `json:"max_clock_offset_ms,string"`
	Rollback         string `json:"rollback"`
}

func newConfigDoc(c *snowraftv1.Config) configDoc {
	return configDoc{
		MaxWindowMS: c.GetMaxWindowMs(), WaitThresholdMS: c.GetWaitThresholdMs(), MaxClockOffsetMS: c.GetMaxClockOffsetMs(),
		Rollback: cli.EnumName(c.GetRollback().String(), rollbackPrefix),
	}
}

const rollbackPrefix = "ROLLBACK_POLICY_"

// NewConfig returns the command config.
func NewConfig(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Show and change what all members agree on",
		Long: `The configuration of a cluster is replicated: all members have the same. The
flags of "snowraft serve" of the same names only count for a new cluster.`,
		Example: `  snowraft config get
  snowraft config set --max-window 30m`,
	}, newConfigGet(a), newConfigSet(a))
}

// showConfig prints the configuration, under the names of the flags that set it.
func showConfig(p *cli.Printer, c *snowraftv1.Config) error {
	d := newConfigDoc(c)
	return p.Answer(d, cli.Record(
		"max-window", cli.Milliseconds(d.MaxWindowMS),
		"wait-threshold", cli.Milliseconds(d.WaitThresholdMS),
		"max-clock-offset", cli.Milliseconds(d.MaxClockOffsetMS),
		"rollback", d.Rollback,
	))
}

// AddConfigFlags adds the flags of what all members of a cluster agree on.
func AddConfigFlags(c *server.Config, add func(group, name string, v *cli.Value, help string)) {
	add("Issuing", "max-window", cli.DurationValue(&c.MaxWindow, limits.MinWindow, limits.MaxWindow),
		"the longest window granted: how long a member can go on issuing without a quorum")
	add("Clock", "wait-threshold", cli.DurationValue(&c.WaitThreshold, limits.MinThreshold, limits.MaxThreshold),
		"how far a clock may be behind before issuing is refused instead of delayed")
	add("Clock", "rollback", cli.ChoiceValue(&c.Rollback, "refuse", "swap"),
		"what happens when a clock is behind by more: refuse to issue, or swap to another worker and go on out of time order")
	add("Clock", "max-clock-offset", cli.DurationValue(&c.MaxClockOffset, limits.MinOffset, limits.MaxOffset),
		"how far a clock may be ahead of the majority's before its member issues nothing")
}

// Defaults is what the members of a new cluster agree on without any setting.
func Defaults() server.Config {
	return server.Config{
		MaxWindow:      limits.DefaultWindow,
		WaitThreshold:  limits.DefaultThreshold,
		MaxClockOffset: limits.DefaultOffset,
		Rollback:       "refuse",
	}
}
