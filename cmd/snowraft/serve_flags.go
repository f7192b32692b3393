package main

import (
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/server"
)

const (
	configFlag = "config"
	localhost  = "127.0.0.1"
)

// The ports of a member by default; those of each further member of dev are 10 higher.
const (
	apiPort = 7700 + iota
	httpPort
	raftPort
	gossipPort
	redisPort
)

// listeners are the flags of the addresses that a member listens at. An optional
// one is off when it is empty, as it is by default.
var listeners = []struct {
	flag     string
	port     int
	help     string
	field    func(*server.Config) *string
	optional bool
	door     bool // for programs that want IDs, so that a gateway has it too
}{
	{"api-addr", apiPort, "listen here for clients, gRPC", func(c *server.Config) *string { return &c.APIAddr }, false, true},
	{"http-addr", httpPort, "listen here for HTTP: the API, metrics and health", func(c *server.Config) *string { return &c.HTTPAddr }, false, true},
	{"raft-addr", raftPort, "listen here for the other members' Raft", func(c *server.Config) *string { return &c.RaftAddr }, false, false},
	{"gossip-addr", gossipPort, "listen here for gossip, TCP and UDP", func(c *server.Config) *string { return &c.GossipAddr }, false, false},
	{"redis-addr", redisPort, "listen here for Redis clients, whose keys are sequences; mostly at port " + strconv.Itoa(redisPort) + ", nowhere by default", func(c *server.Config) *string { return &c.RedisAddr }, true, true},
}

// serveConfig is a member's configuration with what the command itself needs.
type serveConfig struct {
	server.Config
	configPath          string
	logLevel, logFormat string
}

// memberDefaults is what a member is without any setting.
func memberDefaults() server.Config {
	return server.Config{
		Lanes:          1,
		MaxWindow:      limits.DefaultWindow,
		WaitThreshold:  limits.DefaultThreshold,
		MaxClockOffset: limits.DefaultOffset,
		Rollback:       "refuse",
		RedisCreate:    "strict",
	}
}

func addServeFlags(cmd *cobra.Command, c *serveConfig) {
	*c = serveConfig{Config: memberDefaults(), logLevel: "info", logFormat: "text"}
	c.DataDir = "./snowraft-data"
	cmd.Flags().SortFlags = false

	addSetting(cmd, "Member", "name", textValue(&c.Name, "NAME"), "what people call this member; the host name by default")
	addSetting(cmd, "Member", "data-dir", textValue(&c.DataDir, "DIR"), "where this member keeps its identity, log and snapshots; made when it does not exist")
	addSetting(cmd, "Member", configFlag, textValue(&c.configPath, "FILE"), "a YAML file with settings: the names of these flags as keys")

	addNetworkFlags(cmd, &c.Config, false)
	addSetting(cmd, "Network", "advertise-host", hostValue(&c.AdvertiseHost),
		"the host name or IP that others reach this member at; addresses that are not given then listen on all interfaces")

	addSetting(cmd, "Cluster", "join", addressesValue(&c.Join, "10.0.0.1:7703,10.0.0.2:7703"), "gossip addresses of other members")
	addSetting(cmd, "Cluster", "bootstrap-expect", oddValue(&c.BootstrapExpect),
		"how many new members start a cluster together: 1 alone, 3, 5, ... together, 0 only join one; 1 by default, 0 with --join")

	addSetting(cmd, "Cluster", "nonvoter", switchValue(&c.Nonvoter),
		"join as a member that never votes: it issues IDs as the others do, and no quorum waits for it")
	cmd.Flags().Lookup("nonvoter").NoOptDefVal = "true"

	addSetting(cmd, "Issuing", "lanes", intValue(&c.Lanes, 1, limits.Lanes), "how many workers to hold per layout: each adds 4096 IDs a millisecond in the default layout")
	addConfigFlags(&c.Config, func(group, name string, v *value, help string) {
		addSetting(cmd, group, name, v, help+"; of a NEW cluster, later changed with \"snowraft config set\"")
	})

	addLogFlags(&c.logLevel, &c.logFormat, func(name string, v *value, help string) {
		addSetting(cmd, "Logging", name, v, help)
	})
}

// addNetworkFlags adds the flags of what is listened at: by a member, or at the doors only.
func addNetworkFlags(cmd *cobra.Command, c *server.Config, doors bool) {
	for _, l := range listeners {
		if doors && !l.door {
			continue
		}
		p := l.field(c)
		v := listenValue(p)
		if l.optional {
			v = optionalListenValue(p)
		} else {
			*p = net.JoinHostPort(localhost, strconv.Itoa(l.port))
		}
		addSetting(cmd, "Network", l.flag, v, l.help)
	}
	create := choiceValue(&c.RedisCreate, "strict", "relaxed", "off")
	create.kind = "MODE"
	addSetting(cmd, "Network", "redis-create", create,
		"what an INCR of a key that is no sequence does: create a strict or a relaxed one, or fail (off)")
}

// addConfigFlags adds the flags of what all members of a cluster agree on.
func addConfigFlags(c *server.Config, add func(group, name string, v *value, help string)) {
	add("Issuing", "max-window", durationValue(&c.MaxWindow, limits.MinWindow, limits.MaxWindow),
		"the longest window granted: how long a member can go on issuing without a quorum")
	add("Clock", "wait-threshold", durationValue(&c.WaitThreshold, limits.MinThreshold, limits.MaxThreshold),
		"how far a clock may be behind before issuing is refused instead of delayed")
	add("Clock", "rollback", choiceValue(&c.Rollback, "refuse", "swap"),
		"what happens when a clock is behind by more: refuse to issue, or swap to another worker and go on out of time order")
	add("Clock", "max-clock-offset", durationValue(&c.MaxClockOffset, limits.MinOffset, limits.MaxOffset),
		"how far a clock may be ahead of the majority's before its member issues nothing")
}

func oddValue(p *int) *value {
	v := intValue(p, 0, 99)
	v.expects = "0, 1 or another odd number up to 99"
	number := v.parse
	v.parse = func(s string) bool { return number(s) && (*p == 0 || *p%2 == 1) }
	return v
}

// finish fills in the defaults that depend on other settings and checks what
// can only be checked together.
func (c *serveConfig) finish(flags *pflag.FlagSet) error {
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return usagef("--name: expected a name, as the host has none: %v", err)
		}
		c.Name = name
	}
	switch {
	case c.Nonvoter && c.BootstrapExpect > 0:
		return usagef("--bootstrap-expect \"%d\": a nonvoter starts no cluster, expected 0 together with --nonvoter", c.BootstrapExpect)
	case c.Nonvoter: // it only joins
	case !flags.Changed("bootstrap-expect") && len(c.Join) == 0:
		c.BootstrapExpect = 1
	case c.BootstrapExpect == 1 && len(c.Join) > 0:
		return usagef("--bootstrap-expect \"1\": starts a cluster alone, expected 0, 3, 5, ... together with --join")
	}
	for _, l := range listeners {
		address := l.field(&c.Config)
		if l.optional && *address == "" {
			continue
		}
		if c.AdvertiseHost != "" && !flags.Changed(l.flag) {
			*address = ":" + strconv.Itoa(l.port)
		}
		host, _, _ := net.SplitHostPort(*address) // listenValue has checked it
		// Others are told the host of the Raft address unless there is one to advertise.
		if ip := net.ParseIP(host); l.port == raftPort && c.AdvertiseHost == "" && (host == "" || ip.IsUnspecified()) {
			return usagef("--%s %q: listens on all interfaces, expected --advertise-host too: the host name or IP that others reach this member at", l.flag, *address)
		}
	}
	return c.distinct()
}

// distinct checks that no two listeners have the same address.
func (c *serveConfig) distinct() error {
	taken := map[string]string{}
	for _, l := range listeners {
		address := *l.field(&c.Config)
		if address == "" {
			continue
		}
		_, port, _ := net.SplitHostPort(address)
		if other := taken[address]; other != "" && port != "0" {
			return usagef("--%s %q: that is the address of --%s, expected another", l.flag, address, other)
		}
		taken[address] = l.flag
	}
	return nil
}
