package main

import (
	"context"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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
		Rollback: enumName(c.GetRollback().String(), rollbackPrefix),
	}
}

const rollbackPrefix = "ROLLBACK_POLICY_"

func (a *app) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Show and change what all members agree on",
		Long: `The configuration of a cluster is replicated: all members have the same. The
flags of "snowraft serve" of the same names only count for a new cluster.`,
		Example: `  snowraft config get
  snowraft config set --max-window 30m`,
	}, a.configGetCommand(), a.configSetCommand())
}

func (a *app) configGetCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "get",
		Short: "Show the configuration of the cluster",
		Long:  `Shows the replicated configuration of the cluster.`,
		Example: `  snowraft config get
  snowraft config get -o json`,
		Args: arguments(),
	}, func(ctx context.Context, r *remote, _ []string) error {
		resp, err := r.cluster().GetConfig(ctx, &snowraftv1.GetConfigRequest{})
		if err != nil {
			return err
		}
		return r.out.config(resp.GetConfig())
	})
}

func (a *app) configSetCommand() *cobra.Command {
	c := memberDefaults()
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change the configuration of the cluster",
		Long: `Changes the settings that are given and prints the whole configuration. Settings
that are not given stay as they are. A longer --max-window counts from the next
extension of each window; a shorter one does not take back what was granted.`,
		Example: `  snowraft config set --max-window 30m
  snowraft config set --rollback swap --wait-threshold 2s`,
		Args: arguments(),
	}
	flags := cmd.Flags()
	addConfigFlags(&c, func(_, name string, v *value, help string) {
		// What holds now is not known here, so that no default is shown.
		addFlag(cmd, "", name, "", v, help).DefValue = ""
	})
	return a.client(cmd, func(ctx context.Context, r *remote, _ []string) error {
		req := &snowraftv1.Config{}
		given := false
		for _, set := range []struct {
			flag  string
			apply func()
		}{
			{"max-window", func() { req.MaxWindowMs = c.MaxWindow.Milliseconds() }},
			{"wait-threshold", func() { req.WaitThresholdMs = c.WaitThreshold.Milliseconds() }},
			{"max-clock-offset", func() { req.MaxClockOffsetMs = c.MaxClockOffset.Milliseconds() }},
			{"rollback", func() { req.Rollback = rollbackPolicies[c.Rollback] }},
		} {
			if flags.Changed(set.flag) {
				set.apply()
				given = true
			}
		}
		if !given {
			return usagef("config set: missing flag, expected --max-window, --wait-threshold, --max-clock-offset or --rollback")
		}
		resp, err := r.cluster().UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: req})
		if err != nil {
			return err
		}
		return r.out.config(resp.GetConfig())
	})
}

var rollbackPolicies = map[string]snowraftv1.RollbackPolicy{
	"refuse": snowraftv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
	"swap":   snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
}

// config prints the configuration, under the names of the flags that set it.
func (p *printer) config(c *snowraftv1.Config) error {
	d := newConfigDoc(c)
	return p.answer(d, record(
		pair{"max-window", milliseconds(d.MaxWindowMS)},
		pair{"wait-threshold", milliseconds(d.WaitThresholdMS)},
		pair{"max-clock-offset", milliseconds(d.MaxClockOffsetMS)},
		pair{"rollback", d.Rollback},
	))
}
