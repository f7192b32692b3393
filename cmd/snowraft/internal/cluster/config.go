package cluster

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// NewConfig returns the command config.
func NewConfig(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Show and change the configuration of the cluster",
		Long: `Show and change the configuration of the cluster, which all members share. The flags
--initial-... of "snowraft serve" count only once, for a new cluster.`,
		Example: `  snowraft config get
  snowraft config set --max-window 30m`,
	}, newConfigGet(a), newConfigSet(a))
}

// showConfig prints the configuration in a response, under the names of the flags that set it, and its generation.
func showConfig(p *cli.Printer, resp interface{ GetConfig() *snowraftv1.Config }) error {
	c := resp.GetConfig()
	return p.Answer(resp, cli.Record(
		"max-window", cli.Milliseconds(c.GetMaxWindowMs()),
		"wait-threshold", cli.Milliseconds(c.GetWaitThresholdMs()),
		"max-clock-offset", cli.Milliseconds(c.GetMaxClockOffsetMs()),
		"rollback", cli.Word(c.GetRollback()),
		"redis-create", cli.Word(c.GetRedisCreate()),
		"upgrades", cli.Word(c.GetUpgrades()),
		"token-workers-percent", c.GetTokenWorkersPercent(),
		"generation", c.GetGeneration(),
	))
}

// AddConfigFlags adds the flags of the settings that all members share, and sets c to the defaults.
func AddConfigFlags(c *server.Config, add func(name string, v *cli.Value, help string)) {
	c.MaxWindow, c.WaitThreshold, c.MaxClockOffset = limits.DefaultWindow, limits.DefaultThreshold, limits.DefaultOffset
	c.Rollback, c.RedisCreate, c.Upgrades = "refuse", "off", "auto"
	add("max-window", cli.DurationValue(&c.MaxWindow, limits.MinWindow, limits.MaxWindow),
		"longest window granted, and so the longest time that a member issues IDs without quorum")
	add("wait-threshold", cli.DurationValue(&c.WaitThreshold, limits.MinThreshold, limits.MaxThreshold),
		"largest clock lag at which requests wait instead of failing")
	add("rollback", cli.ChoiceValue(&c.Rollback, apijson.Words[snowraftv1.RollbackPolicy]()...),
		"behavior beyond the wait threshold: refuse requests, or swap to another worker and issue IDs out of time order")
	add("max-clock-offset", cli.DurationValue(&c.MaxClockOffset, limits.MinOffset, limits.MaxOffset),
		"largest clock lead over the majority at which a member issues IDs")
	add("redis-create", cli.ChoiceValue(&c.RedisCreate, apijson.Words[snowraftv1.AutoCreate]()...),
		"kind of sequence that a Redis INCR creates for an unknown key; off rejects the command")
	add("upgrades", cli.ChoiceValue(&c.Upgrades, apijson.Words[snowraftv1.Upgrades]()...),
		"finalization of upgrades: by the leader after an hour (auto), or by \"snowraft upgrade finalize\" (manual)")
}

// KeepGiven clears the settings in c that were not given.
func KeepGiven(c *server.Config, given func(name string) bool) {
	for name, unset := range map[string]func(){
		"max-window":       func() { c.MaxWindow = 0 },
		"wait-threshold":   func() { c.WaitThreshold = 0 },
		"rollback":         func() { c.Rollback = "" },
		"max-clock-offset": func() { c.MaxClockOffset = 0 },
		"redis-create":     func() { c.RedisCreate = "" },
		"upgrades":         func() { c.Upgrades = "" },
	} {
		if !given(name) {
			unset()
		}
	}
}

func newConfigGet(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "get",
		Short: "Show the configuration of the cluster",
		Long:  `Show the replicated configuration of the cluster.`,
		Example: `  snowraft config get
  snowraft config get -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
		if err != nil {
			return err
		}
		return showConfig(out, resp)
	})
}

func newConfigSet(a *cli.App) *cobra.Command {
	var c server.Config
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Change the configuration of the cluster",
		Long: `Change the given settings and print the configuration. Settings that are not given
keep their values. A longer --max-window counts from the next extension of each
window; a shorter one does not revoke granted windows. With --redis-create relaxed
or strict, INCR of an unknown key creates a sequence that begins with 1, even if you
meant to create or move a sequence of that name.

The command waits until all live members know the change. "config get" shows the
generation, which grows with each change.`,
		Example: `  snowraft config set --max-window 30m
  snowraft config set --rollback swap --wait-threshold 2s
  snowraft config set --redis-create strict
  snowraft config set --token-workers-percent 90
  snowraft config set --max-window 30m --if-generation 7`,
	}
	flags := cmd.Flags()
	AddConfigFlags(&c, func(name string, v *cli.Value, help string) {
		// The present configuration is not known here, so no default is shown.
		cli.AddFlag(cmd, "", name, "", v, help).DefValue = ""
	})
	var percent uint64
	cli.AddFlag(cmd, "", "token-workers-percent", "", cli.UintValue(&percent, 1), "part of a layout's workers, without those for members only, that one API token can hold, at most 100").DefValue = ""
	generation := cli.AddGenerationFlag(cmd, "configuration")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		req := &snowraftv1.Config{}
		given := false
		for _, set := range []struct {
			flag  string
			apply func()
		}{
			{"max-window", func() { req.MaxWindowMs = new(c.MaxWindow.Milliseconds()) }},
			{"wait-threshold", func() { req.WaitThresholdMs = new(c.WaitThreshold.Milliseconds()) }},
			{"max-clock-offset", func() { req.MaxClockOffsetMs = new(c.MaxClockOffset.Milliseconds()) }},
			{"rollback", func() {
				rollback, _ := apijson.Parse[snowraftv1.RollbackPolicy](c.Rollback)
				req.Rollback = &rollback
			}},
			{"redis-create", func() {
				create, _ := apijson.Parse[snowraftv1.AutoCreate](c.RedisCreate)
				req.RedisCreate = &create
			}},
			{"upgrades", func() {
				upgrades, _ := apijson.Parse[snowraftv1.Upgrades](c.Upgrades)
				req.Upgrades = &upgrades
			}},
			{"token-workers-percent", func() { req.TokenWorkersPercent = new(int32(min(percent, math.MaxInt32))) }},
		} {
			if flags.Changed(set.flag) {
				set.apply()
				given = true
			}
		}
		if !given {
			return cli.Usagef("config set: missing setting; set --max-window, --wait-threshold, --max-clock-offset, --rollback, --redis-create, --upgrades or --token-workers-percent")
		}
		resp, err := r.Cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: req, ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), "until they learn of the change, they may use the previous configuration")
		return showConfig(out, resp)
	})
}
