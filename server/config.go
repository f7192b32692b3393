package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/logring"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a member with all its interfaces.
type Config struct {
	// Name is the human-readable name of the member, and the stable name that its lanes
	// hold workers under; empty: the host name.
	Name string
	// ForceName makes a new member join although another member has its name: it is to replace that one.
	ForceName bool
	// DataDir is created when it does not exist.
	DataDir string

	// Bind addresses, host:port; port 0 picks a free one.
	APIAddr    string
	HTTPAddr   string
	RaftAddr   string
	GossipAddr string
	// RedisAddr is the address for Redis clients; empty disables the listener.
	RedisAddr string
	// ThriftAddr is the address for clients of Twitter's Snowflake server; empty: none.
	ThriftAddr string
	// AdvertiseHost is the host name or IP that others reach this member at;
	// empty: the host that RaftAddr binds.
	AdvertiseHost string
	// TLSHosts are more host names and IPs that the certificate by the cluster's CA names.
	TLSHosts []string

	// Join are gossip addresses of other members.
	Join []string
	// BootstrapExpect is the number of new members that start a cluster together; 1 starts
	// one alone, 0 only ever joins one.
	BootstrapExpect int
	// Nonvoter makes a member that never votes: it issues IDs as the others do, and no
	// quorum waits for it. It can only join.
	Nonvoter bool

	// Lanes is the number of lanes each layout gets; 0 is 1.
	Lanes int

	// The configuration of a cluster that this member starts; 0 and "" are not given,
	// which is 10 min, 1 s, 500 ms, "refuse", "off", "auto". A member of a cluster that has another
	// value of a given one logs a warning.
	MaxWindow      time.Duration
	WaitThreshold  time.Duration
	MaxClockOffset time.Duration
	Rollback       string
	RedisCreate    string
	Upgrades       string

	// Keys are the secrets of a secured cluster; nil: the cluster is open, and anyone may do anything.
	Keys *trust.Keys
	// Insecure lets a member start without Keys although it had Keys at an earlier start.
	Insecure bool
	// ClientTLS makes a secured member speak TLS with its clients too.
	ClientTLS bool
	// OwnCertificate is for clients without a pin; nil: a certificate by the cluster's CA.
	OwnCertificate *trust.OwnCertificate
	// AuditLog gets the administrative calls; nil: the log.
	AuditLog *trust.AuditLog

	// Tracer makes spans of requests and of the work behind them; nil: none. The owner closes it after the member.
	Tracer *tracing.Tracer

	Logger *slog.Logger
	// LogRing has the last lines of Logger, for debug archives; nil: the member makes one for its own lines.
	LogRing *logring.Ring
	Version string
	Timing  cluster.Timing
	// FinalizeAfter is the time for which all members must have known newer commands before the leader finalizes an upgrade
	// by itself; 0: an hour.
	FinalizeAfter time.Duration
	// Clock replaces the machine's clock in tests.
	Clock clock.Source
}

func (c Config) withDefaults() (Config, error) {
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.LogRing == nil {
		c.LogRing = logring.New()
		c.Logger = slog.New(c.LogRing.Handler(c.Logger.Handler()))
	}
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("name: %w", err)
		}
		c.Name = name
	}
	if err := nfc.CheckProcess("member name", c.Name); err != nil {
		return c, err
	}
	c.Lanes = cmp.Or(c.Lanes, 1)
	if c.Lanes < 1 || c.Lanes > limits.Lanes {
		return c, fmt.Errorf("lanes %d: expected 1 to %d", c.Lanes, limits.Lanes)
	}
	if c.DataDir == "" {
		return c, errors.New("data-dir must not be empty")
	}
	if _, err := rollbackPolicy(c.Rollback); err != nil {
		return c, err
	}
	if _, err := autoCreate(c.RedisCreate); err != nil {
		return c, err
	}
	if _, err := upgradesOf(c.Upgrades); err != nil {
		return c, err
	}
	return c, nil
}

// advertiseHost is the host that others reach this member at.
func (c Config) advertiseHost() (string, error) {
	if c.AdvertiseHost != "" {
		return c.AdvertiseHost, nil
	}
	host, _, err := net.SplitHostPort(c.RaftAddr)
	if err != nil {
		return "", fmt.Errorf("raft-addr %q: expected host:port", c.RaftAddr)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		return "", fmt.Errorf("raft-addr %s listens on all interfaces; set advertise-host to the host that others reach this member at", c.RaftAddr)
	}
	return host, nil
}
