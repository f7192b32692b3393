package serve

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/server/gateway"
)

// membersFlag names the members that a gateway forwards requests to. It differs from the flag of the client commands,
// cli.AddrFlag, because on the host of a gateway the variable of cli.AddrFlag names the gateway.
const membersFlag = "members"

// gatewayConfig is a gateway's configuration. It keeps the settings that members have too in a member's configuration.
type gatewayConfig struct {
	config
	members []string
	access  cli.Access
}

// NewGateway returns the command gateway.
func NewGateway(h *Host) *cobra.Command {
	var cfg gatewayConfig
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Run a stateless gateway to a cluster",
		Long: `Run a stateless gateway to a cluster, until SIGINT (Ctrl-C) or SIGTERM. A gateway
serves the same protocols as a member and forwards requests to the members, so that
programs reach the cluster at a nearby address, such as 127.0.0.1. A gateway has no
data directory, no vote and no worker. Start and stop any number of gateways; the
members need no configuration for them.

--members names some members; the gateway learns of the others from these. The
gateway prefetches IDs, so an ID can be one second older than its request. It forwards
requests for many IDs, for IDs after a given ID and all other calls to a member.

Every flag has an environment variable and a key in the --config file (see
"snowraft help serve"). A gateway does not read SNOWRAFT_ADDR, which is for client
commands.`,
		Example: `  snowraft gateway --members a.example.net:7700,b.example.net:7700
  snowraft gateway --members 10.0.0.1:7700 --api-addr :7700 --http-addr :7701 \
    --insecure
  SNOWRAFT_MEMBERS=10.0.0.1:7700 snowraft gateway --redis-addr 127.0.0.1:6379`,
		Args: cli.Args,
	}
	addGatewayFlags(cmd, &cfg)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.supported(cmd.Name()); err != nil {
			return err
		}
		if err := h.loadSettings(cmd.Flags(), &cfg.configPath, false); err != nil {
			return err
		}
		cfg.access = cli.AccessOf(cmd.Flags())
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
	cli.AddSetting(cmd, "Gateway", membersFlag, cli.AddressesValue(&c.members, "10.0.0.1:7700,10.0.0.2:7700"), "API addresses of some members; the gateway learns of the others from these")
	cli.AddSetting(cmd, "Gateway", "name", cli.TextValue(&c.Name, "NAME"), "human-readable name of this gateway (default: hostname)")
	cli.AddSetting(cmd, "Gateway", configFlag, cli.FileValue(&c.configPath), "YAML file with settings; its keys are the names of these flags")
	addNetworkFlags(cmd, &c.Config, true)
	cli.AddTokenFlags(cmd, security, "API token of this gateway, with the scope tokens:verify; prefer the variable, because other users see command lines")
	addCertificateFlags(cmd, &c.guard, "PEM file with the certificate that clients see; without it, clients speak plain TCP")
	addAuditFlag(cmd, &c.guard)
	addInsecureFlag(cmd, &c.config)
	addLogFlags(&c.logLevel, &c.logFormat, func(name string, v *cli.Value, help string) {
		cli.AddSetting(cmd, "Logging", name, v, help)
	})
	addTraceFlags(cmd, &c.config)
}

// finish checks the settings that can only be checked together.
func (c *gatewayConfig) finish() error {
	if c.Name != "" { // default: the host's name
		if err := nfc.CheckProcess("--name", c.Name); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if len(c.members) == 0 {
		return cli.Usagef("--%s: missing; expected the API address of at least one member", membersFlag)
	}
	if slices.Contains(c.members, c.APIAddr) {
		return cli.Usagef("--api-addr %q: already used by a member in --%s; choose another address", c.APIAddr, membersFlag)
	}
	if c.access.Token != "" && len(c.HTTPHosts) > 0 {
		return everyName("token")
	}
	if err := c.pair(); err != nil {
		return err
	}
	if flag, address := exposed(&c.Config); flag != "" && c.certFile == "" && !c.Insecure {
		return cli.Usagef("--%s %q: tokens and answers would cross the network in clear text; set --%s, or --%s to allow that", flag, address, certFlag, insecureFlag)
	}
	return c.distinct()
}

// gateway runs a gateway until a signal arrives or the gateway cannot continue.
func (h *Host) gateway(ctx context.Context, cfg gatewayConfig) error {
	to, err := cfg.access.TLS()
	if err != nil {
		return err
	}
	if cfg.OwnCertificate, err = cfg.certificate(h.Now); err != nil {
		return err
	}
	if err := cfg.openAudit(); err != nil {
		return err
	}
	return h.run(ctx, "gateway", &cfg.config, func(ctx context.Context) (started, error) {
		h.watch(ctx, &cfg.config)
		tracer, err := h.trace(ctx, gatewayService, cfg.Name, cfg.slowerThan, cfg.Logger)
		if err != nil {
			return started{}, err
		}
		g, err := h.openGateway(ctx, gateway.Config{
			Token: to.Token, CA: to.CA, OwnCertificate: cfg.OwnCertificate, AuditLog: cfg.auditTo(cfg.Logger),
			Name: cfg.Name, Members: cfg.members, APIAddr: cfg.APIAddr, HTTPAddr: cfg.HTTPAddr,
			HTTPHosts: cfg.HTTPHosts, RedisAddr: cfg.RedisAddr, ThriftAddr: cfg.ThriftAddr,
			HTTPSocket: cfg.HTTPSocket, RedisSocket: cfg.RedisSocket, Tracer: tracer, Logger: cfg.Logger, Version: cfg.Version,
		})
		if err != nil {
			tracer.Close(ctx)
			return started{}, err
		}
		about := []any{"version", cfg.Version, "members", cfg.members, "api", g.APIAddr(), "http", g.HTTPAddr()}
		return started{g, tracer, about, func() []any { return []any{"api", g.APIAddr()} }}, nil
	})
}
