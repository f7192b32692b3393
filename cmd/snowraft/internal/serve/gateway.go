package serve

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server/gateway"
)

// gatewayConfig is a gateway's configuration. The settings that it shares with a member are kept as one's.
type gatewayConfig struct {
	config
	members []string
}

// NewGateway returns the command gateway.
func NewGateway(h *Host) *cobra.Command {
	var cfg gatewayConfig
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run a front of a cluster that keeps nothing",
		Long: `Runs a gateway until SIGINT (Ctrl-C) or SIGTERM. It has the doors of a member,
gRPC, HTTP and Redis's protocol, and asks the members for all that it answers,
so that programs reach the cluster at an address near them, such as the one of
their own host. It has no data directory, no vote and no worker: any number of
gateways may come and go, and the members need not know of them.

The members that --addr names tell it of the others. IDs are fetched ahead, so
that one may be a second older than its request; requests for IDs after another
one, and for many, are passed on to a member, and so is all else.

Every flag has an environment variable and a key in the file of --config, as
those of "snowraft serve" have.`,
		Example: `  snowraft gateway --addr a.example.net:7700,b.example.net:7700
  snowraft gateway --addr 10.0.0.1:7700 --api-addr :7700 --http-addr :7701 --redis-addr :7704
  SNOWRAFT_ADDR=10.0.0.1:7700 snowraft gateway --redis-addr 127.0.0.1:6379`,
		Args: cli.Args,
	}
	addGatewayFlags(cmd, &cfg)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.loadSettings(cmd.Flags(), &cfg.configPath); err != nil {
			return err
		}
		if err := cfg.finish(); err != nil {
			return err
		}
		return h.gateway(cmd.Context(), cfg)
	}
	return cmd
}

func addGatewayFlags(cmd *cobra.Command, c *gatewayConfig) {
	*c = gatewayConfig{config: config{Config: memberDefaults(), logLevel: "info", logFormat: "text"}}
	cmd.Flags().SortFlags = false
	cli.AddSetting(cmd, "Gateway", cli.AddrFlag, cli.AddressesValue(&c.members, "10.0.0.1:7700,10.0.0.2:7700"), "API addresses of members; they tell of the others")
	cli.AddSetting(cmd, "Gateway", "name", cli.TextValue(&c.Name, "NAME"), "what people call this gateway; the host name by default")
	cli.AddSetting(cmd, "Gateway", configFlag, cli.TextValue(&c.configPath, "FILE"), "a YAML file with settings: the names of these flags as keys")
	addNetworkFlags(cmd, &c.Config, true)
	addLogFlags(&c.logLevel, &c.logFormat, func(name string, v *cli.Value, help string) {
		cli.AddSetting(cmd, "Logging", name, v, help)
	})
}

// finish checks what can only be checked together.
func (c *gatewayConfig) finish() error {
	if len(c.members) == 0 {
		return cli.Usagef("--%s: expected the API address of a member at least", cli.AddrFlag)
	}
	if slices.Contains(c.members, c.APIAddr) {
		return cli.Usagef("--api-addr %q: that is the address of a member, by --%s, expected another", c.APIAddr, cli.AddrFlag)
	}
	return c.distinct()
}

// gateway runs a gateway until a signal arrives or it can't go on.
func (h *Host) gateway(ctx context.Context, cfg gatewayConfig) error {
	return h.run(ctx, "gateway", &cfg.config, func(ctx context.Context) (started, error) {
		g, err := h.openGateway(ctx, gateway.Config{
			Name: cfg.Name, Members: cfg.members, APIAddr: cfg.APIAddr, HTTPAddr: cfg.HTTPAddr,
			RedisAddr: cfg.RedisAddr, RedisCreate: cfg.RedisCreate, Logger: cfg.Logger, Version: cfg.Version,
		})
		if err != nil {
			return started{}, err
		}
		about := []any{"version", cfg.Version, "members", cfg.members, "api", g.APIAddr(), "http", g.HTTPAddr()}
		return started{g, about, func() []any { return []any{"api", g.APIAddr()} }}, nil
	})
}
