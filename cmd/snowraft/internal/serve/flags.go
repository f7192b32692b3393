package serve

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cluster"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/server"
)

const (
	configFlag = "config"
	// initialPrefix begins the names of the settings that apply only to a new cluster.
	initialPrefix = "initial-"
)

// listeners are the flags of the addresses that a member listens at. An empty address, the
// default, disables an optional listener.
var listeners = []struct {
	flag     string
	port     int
	help     string
	field    func(*server.Config) *string
	optional bool
	gateway  bool // gateways have it too
}{
	{"api-addr", cli.APIPort, "address for gRPC clients", func(c *server.Config) *string { return &c.APIAddr }, false, true},
	{"http-addr", cli.HTTPPort, "address for HTTP: the API, metrics and health", func(c *server.Config) *string { return &c.HTTPAddr }, false, true},
	{"raft-addr", cli.RaftPort, "address for Raft connections of other members", func(c *server.Config) *string { return &c.RaftAddr }, false, false},
	{"gossip-addr", cli.GossipPort, "address for gossip, TCP and UDP", func(c *server.Config) *string { return &c.GossipAddr }, false, false},
	{"redis-addr", cli.RedisPort, "address for Redis clients, conventionally port " + strconv.Itoa(cli.RedisPort) + "; empty disables the listener", func(c *server.Config) *string { return &c.RedisAddr }, true, true},
	{"thrift-addr", cli.ThriftPort, "address for clients of Twitter's Snowflake server, conventionally port " + strconv.Itoa(cli.ThriftPort) + "; empty disables the listener", func(c *server.Config) *string { return &c.ThriftAddr }, true, true},
}

// config is a member's configuration with the settings of the command itself.
type config struct {
	server.Config
	guard
	configPath          string
	logLevel, logFormat string
	slowerThan          time.Duration
	backups             schedule
}

// memberDefaults returns the configuration of a member without any setting.
func memberDefaults() server.Config {
	return server.Config{Lanes: 1, ClientTLS: true}
}

func addFlags(cmd *cobra.Command, c *config) {
	*c = config{Config: memberDefaults(), logLevel: "info", logFormat: "text"}
	c.DataDir = "./snowraft-data"
	cmd.Flags().SortFlags = false

	cli.AddSetting(cmd, "Member", "name", cli.TextValue(&c.Name, "NAME"), "human-readable name of this member (default: hostname)")
	cli.AddSetting(cmd, "Member", "data-dir", cli.TextValue(&c.DataDir, "DIR"), "directory for identity, log and snapshots; created if missing")
	cli.AddSetting(cmd, "Member", configFlag, cli.FileValue(&c.configPath), "YAML file with settings; its keys are the names of these flags")

	addNetworkFlags(cmd, &c.Config, false)
	cli.AddSetting(cmd, "Network", "advertise-host", cli.HostValue(&c.AdvertiseHost),
		"host name or IP address that others reach this member at; addresses that are not set then listen on all interfaces")

	addGuardFlags(cmd, c)

	cli.AddSetting(cmd, "Cluster", "join", cli.AddressesValue(&c.Join, "10.0.0.1:7703,10.0.0.2:7703"), "gossip addresses of other members")
	cli.AddSetting(cmd, "Cluster", "bootstrap-expect", cli.IntValue(&c.BootstrapExpect, 0, 99).Only("0, 1 or another odd number up to 99", func() bool {
		return c.BootstrapExpect == 0 || c.BootstrapExpect%2 == 1
	}),
		"number of new members that start a cluster together: 1, 3, 5, ...; 0 only joins (default: 1, or 0 with --join)")

	cli.AddSetting(cmd, "Cluster", "nonvoter", cli.SwitchValue(&c.Nonvoter),
		"join as a nonvoter: issue IDs like other members, but never count toward quorum")
	cmd.Flags().Lookup("nonvoter").NoOptDefVal = "true"
	cli.AddSetting(cmd, "Cluster", "force-name", cli.SwitchValue(&c.ForceName),
		"join even if another member has the --name of this new one, to replace that member")
	cmd.Flags().Lookup("force-name").NoOptDefVal = "true"
	c.Timing.PromoteAfter = limits.DefaultPromoteAfter
	cli.AddSetting(cmd, "Cluster", "promote-after", cli.DurationValue(&c.Timing.PromoteAfter, limits.MinPromoteAfter, limits.MaxPromoteAfter),
		"time that a new member must be healthy before the leader makes it a voter; only the value of the leader counts")

	cli.AddSetting(cmd, "Issuing", "lanes", cli.IntValue(&c.Lanes, 1, limits.Lanes), "number of workers to hold per layout; each adds 4096 IDs per millisecond in the default layout")
	cluster.AddConfigFlags(&c.Config, func(name string, v *cli.Value, help string) {
		cli.AddSetting(cmd, "New cluster", initialPrefix+name, v, help+" (initial value for a new cluster; change it later with \"snowraft config set\")")
	})

	addBackupFlags(cmd, &c.backups)
	addLogFlags(&c.logLevel, &c.logFormat, func(name string, v *cli.Value, help string) {
		cli.AddSetting(cmd, "Logging", name, v, help)
	})
	addTraceFlags(cmd, c)
}

// addNetworkFlags adds the flags of the listeners of a member or of a gateway.
func addNetworkFlags(cmd *cobra.Command, c *server.Config, gateway bool) {
	for _, l := range listeners {
		if gateway && !l.gateway {
			continue
		}
		p := l.field(c)
		v := cli.ListenValue(p)
		if l.optional {
			v = cli.OptionalListenValue(p)
		} else {
			*p = net.JoinHostPort(cli.Localhost, strconv.Itoa(l.port))
		}
		cli.AddSetting(cmd, "Network", l.flag, v, l.help)
	}
	addSocketFlags(cmd, c)
	cli.AddSetting(cmd, "Network", namesFlag, cli.HostsValue(&c.HTTPHosts),
		"additional host names by which browsers may reach the HTTP port, if the cluster is open")
}

// finish sets the defaults that depend on other settings, and checks the settings
// that can only be checked together.
func (c *config) finish(flags *pflag.FlagSet) error {
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return cli.Usagef("--name: missing, and the host has no name (%v); set --name", err)
		}
		c.Name = name
	}
	if err := nfc.CheckProcess("--name", c.Name); err != nil {
		return cli.Usagef("%v", err)
	}
	cluster.KeepGiven(&c.Config, func(name string) bool { return flags.Changed(initialPrefix + name) })
	switch {
	case c.Nonvoter && c.BootstrapExpect > 0:
		return cli.Usagef("--bootstrap-expect \"%d\": expected 0 with --nonvoter", c.BootstrapExpect)
	case c.Nonvoter: // a nonvoter only joins
	case !flags.Changed("bootstrap-expect") && len(c.Join) == 0:
		c.BootstrapExpect = 1
	case c.BootstrapExpect == 1 && len(c.Join) > 0:
		return cli.Usagef("--bootstrap-expect \"1\": expected 0, 3, 5, ... with --join")
	}
	for _, l := range listeners {
		address := l.field(&c.Config)
		if l.optional && *address == "" {
			continue
		}
		if c.AdvertiseHost != "" && !flags.Changed(l.flag) {
			*address = ":" + strconv.Itoa(l.port)
		}
		host, _, _ := net.SplitHostPort(*address) // ListenValue has checked it
		// Other members learn the host of the Raft address, unless a host to advertise is set.
		if ip := net.ParseIP(host); l.port == cli.RaftPort && c.AdvertiseHost == "" && (host == "" || ip.IsUnspecified()) {
			return cli.Usagef("--%s %q: listens on all interfaces; set --advertise-host to the host name or IP address that others reach", l.flag, *address)
		}
	}
	c.backups.finish(flags)
	return c.distinct()
}

// distinct checks that no two listeners have the same address, and no two sockets the same path.
func (c *config) distinct() error {
	taken := map[string]string{}
	for _, l := range listeners {
		address := *l.field(&c.Config)
		if address == "" {
			continue
		}
		_, port, _ := net.SplitHostPort(address)
		if other := taken[address]; other != "" && port != "0" {
			return cli.Usagef("--%s %q: already used by --%s; choose another address", l.flag, address, other)
		}
		taken[address] = l.flag
	}
	if c.HTTPSocket.Path != "" && c.HTTPSocket.Path == c.RedisSocket.Path {
		return cli.Usagef("--redis-socket %q: already used by --http-socket; choose another path", c.RedisSocket.Path)
	}
	return nil
}
