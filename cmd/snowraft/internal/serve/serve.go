// Package serve has the commands that run servers: serve, gateway and dev. It also has the command health, which checks the
// local process. A [Host] is their environment.
package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// readyPoll is the interval between checks of a starting member's readiness.
const readyPoll = 20 * time.Millisecond

// New returns the command serve.
func New(h *Host) *cobra.Command {
	var cfg config
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a member of a cluster",
		Long: `Run a member of a cluster until SIGINT (Ctrl-C), SIGTERM or its removal.

Without flags, serve starts a cluster of one member, which is ready at once and
keeps its data in ./snowraft-data. For a cluster of three, start three members with
--bootstrap-expect 3 that --join each other, in any order. A member whose data
directory has data of a cluster rejoins that cluster.

A member that listens on other addresses than loopback needs a --secret-file, the same
on all members, or --insecure. With --insecure, any process that reaches the Raft and
gossip ports can act as a member, and can make the cluster issue IDs twice.

Every flag has an environment variable, SNOWRAFT_ and its name in capitals with
underscores (SNOWRAFT_DATA_DIR), and a key of the same name in the YAML file of
--config (data-dir: /var/lib/snowraft). Precedence: flag, environment variable,
configuration file, default. An empty variable counts as unset.

The first signal shuts the member down gracefully: it finishes requests in flight,
releases its workers and transfers leadership, within 10 s. A further signal stops it
at once. A stopped member stays in its cluster; to take it out, use "snowraft member
leave".`,
		Example: `  snowraft serve
  snowraft serve --name a --data-dir /var/lib/snowraft \
    --advertise-host a.example.net \
    --secret-file /etc/snowraft/cluster.secret --bootstrap-expect 3 \
    --join b.example.net:7703,c.example.net:7703
  SNOWRAFT_LOG_FORMAT=json snowraft serve --config /etc/snowraft/snowraft.yaml`,
		Args: cli.Args,
	}
	addFlags(cmd, &cfg)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.supported(cmd.Name()); err != nil {
			return err
		}
		if err := h.loadServeConfig(cmd, &cfg); err != nil {
			return err
		}
		return h.serve(cmd.Context(), cfg)
	}
	return cmd
}

func (h *Host) loadServeConfig(cmd *cobra.Command, cfg *config) error {
	if err := h.loadSettings(cmd.Flags(), &cfg.configPath, false); err != nil {
		return err
	}
	return cfg.finish(cmd.Flags())
}

// loadSettings sets the settings that the command line does not give: from the environment,
// then from the file, whose path is a setting too. With others, it ignores settings of the file that the command does not have.
func (h *Host) loadSettings(flags *pflag.FlagSet, configPath *string, others bool) error {
	name := "--" + configFlag
	if path := h.Env(cli.EnvName(configFlag)); path != "" && !flags.Changed(configFlag) {
		name, *configPath = cli.EnvName(configFlag), path
	}
	var file configFile
	if *configPath != "" {
		var err error
		if file, err = readConfigFile(name, *configPath, flags, others); err != nil {
			return err
		}
	}
	return cli.Resolve(flags, h.Env, func(name string) (text, where string, ok bool) {
		e, ok := file[name]
		return e.text, e.where, ok
	})
}

// serve runs a member until a signal arrives or the member stops on its own.
func (h *Host) serve(ctx context.Context, cfg config) error {
	if err := cfg.openGuard(h.Now); err != nil {
		return err
	}
	if err := cfg.admit(); err != nil {
		return err
	}
	if err := cfg.openBackups(); err != nil {
		return err
	}
	err := h.run(ctx, "member", &cfg, func(ctx context.Context) (started, error) {
		h.watch(ctx, &cfg)
		cfg.AuditLog = cfg.auditTo(cfg.Logger)
		var err error
		if cfg.Tracer, err = h.trace(ctx, memberService, cfg.Name, cfg.slowerThan, cfg.Logger); err != nil {
			return started{}, err
		}
		m, err := h.open(ctx, cfg.Config)
		if err != nil {
			cfg.Tracer.Close(ctx)
		}
		switch {
		case errors.Is(err, cluster.ErrSecured):
			return started{}, cli.Usagef("%v", err)
		case err != nil:
			return started{}, err
		}
		about := []any{"name", cfg.Name, "member_id", m.MemberID(), "version", cfg.Version, "data_dir", cfg.DataDir,
			"api", m.APIAddr(), "http", m.HTTPAddr(), "raft", m.RaftAddr(), "gossip", m.GossipAddr()}
		return started{m, cfg.Tracer, about, func() []any { return []any{"cluster", m.ClusterID(), "api", m.APIAddr()} }}, nil
	})
	if errors.Is(err, cluster.ErrRemoved) || errors.Is(err, cluster.ErrSuperseded) {
		return cli.Exit(cli.ExitRemoved, err)
	}
	return err
}

// waitReady returns nil when m can issue IDs, or the reason why not when m stops or
// ctx ends first. It calls waiting, if not nil, each time that m is not ready.
func waitReady(ctx context.Context, m process, waiting func(problem error)) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		problem := m.Ready()
		if problem == nil {
			return nil
		}
		if waiting != nil {
			waiting(problem)
		}
		select {
		case <-tick.C:
		case <-m.Done():
			return errors.Join(errors.New("the process stopped"), m.Err())
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", problem)
		}
	}
}
