package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newConfigSet(a *cli.App) *cobra.Command {
	c := Defaults()
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change the configuration of the cluster",
		Long: `Changes the settings that are given and prints the whole configuration. Settings
that are not given stay as they are. A longer --max-window counts from the next
extension of each window; a shorter one does not take back what was granted.`,
		Example: `  snowraft config set --max-window 30m
  snowraft config set --rollback swap --wait-threshold 2s`,
		Args: cli.Args(),
	}
	flags := cmd.Flags()
	AddConfigFlags(&c, func(_, name string, v *cli.Value, help string) {
		// What holds now is not known here, so that no default is shown.
		cli.AddFlag(cmd, "", name, "", v, help).DefValue = ""
	})
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
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
			return cli.Usagef("config set: missing flag, expected --max-window, --wait-threshold, --max-clock-offset or --rollback")
		}
		resp, err := r.Cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: req})
		if err != nil {
			return err
		}
		return showConfig(out, resp.GetConfig())
	})
}

var rollbackPolicies = map[string]snowraftv1.RollbackPolicy{
	"refuse": snowraftv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
	"swap":   snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
}
