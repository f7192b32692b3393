package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/names/nfc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/backups"
	"github.com/snowraft/snowraft/server/socket"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a member with all its interfaces.
type Config struct {
	// Name is the human-readable name of the member; empty: the host name. Lanes hold workers under this name, so it must be
	// stable.
	Name string
	// ForceName makes a new member join although another member has its name. The new member replaces that member.
	ForceName bool
	// DataDir is the data directory. Open creates it if it does not exist.
	DataDir string

	// Bind addresses, host:port; port 0 selects a free port.
	APIAddr    string
	HTTPAddr   string
	RaftAddr   string
	GossipAddr string
	// RedisAddr is the address for Redis clients; empty disables the listener.
	RedisAddr string
	// ThriftAddr is the address for clients of Twitter's Snowflake server; empty disables the listener.
	ThriftAddr string
	// HTTPSocket and RedisSocket are Unix sockets for HTTP and Redis clients, without TLS; an empty path disables the socket. Without a
	// mode, only the user of the process may connect.
	HTTPSocket, RedisSocket socket.File
	// AdvertiseHost is the host name or IP address at which members and clients reach this member; empty: the host of RaftAddr.
	AdvertiseHost string
	// HTTPHosts are further host names by which browsers may reach the HTTP port of an open member.
	HTTPHosts []string
	// TLSHosts are additional host names and IP addresses in the certificate that the cluster's CA signs.
	TLSHosts []string

	// Join are gossip addresses of other members.
	Join []string
	// BootstrapExpect is the number of new members that start a cluster together. With 1 this member starts a cluster alone, with
	// 0 it only joins a cluster.
	BootstrapExpect int
	// Nonvoter makes a member that never votes. A nonvoter issues IDs like a voter, and no quorum waits for it. It can only join
	// a cluster.
	Nonvoter bool

	// Lanes is the number of lanes of each layout; 0 means 1.
	Lanes int

	// The initial configuration of a cluster that this member starts. 0 and "" mean that a setting is not given. The defaults are
	// 10 min, 1 s, 500 ms, "refuse", "off" and "auto", in the order of the fields. A member logs a warning if its cluster has
	// another value of a given setting.
	MaxWindow      time.Duration
	WaitThreshold  time.Duration
	MaxClockOffset time.Duration
	Rollback       string
	RedisCreate    string
	Upgrades       string

	// Keys are the secrets of a secured cluster. nil means that the cluster is open: every caller has every right.
	Keys *trust.Keys
	// Insecure lets a member start without Keys although it had Keys at an earlier start.
	Insecure bool
	// ClientTLS makes a secured member use TLS with clients as well as with members.
	ClientTLS bool
	// OwnCertificate is for clients without a pin; nil: a certificate by the cluster's CA.
	OwnCertificate *trust.OwnCertificate
	// AuditLog records the administrative calls; nil: Logger records them.
	AuditLog *trust.AuditLog

	// Backups is the schedule of backups that this member takes while it leads; nil: none.
	Backups *backups.Schedule

	// Tracer makes spans of requests and of the work behind them; nil: no spans. The caller of Open closes the tracer after the
	// member.
	Tracer *tracing.Tracer

	Logger  *slog.Logger // nil: no log
	Version string
	Timing  cluster.Timing
	// FinalizeAfter is the time for which all members must have known newer commands before the leader finalizes an upgrade
	// automatically; 0: an hour.
	FinalizeAfter time.Duration
	// Clock replaces the machine's clock in tests.
	Clock clock.Source
	// Network replaces the machine's network in tests.
	Network Network
}

func (c Config) withDefaults() (Config, error) {
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.Name, err = nfc.ProcessName("member name", c.Name); err != nil {
		return c, err
	}
	c.Lanes = cmp.Or(c.Lanes, 1)
	if c.Lanes < 1 || c.Lanes > limits.Lanes {
		return c, fmt.Errorf("lanes %d: expected 1 to %d", c.Lanes, limits.Lanes)
	}
	if c.DataDir == "" {
		return c, errors.New("data-dir must not be empty")
	}
	_, err = c.given()
	return c, err
}

func (c Config) network() Network {
	if c.Network == nil {
		return new(machine)
	}
	return c.Network
}

// advertiseHost returns the host at which members and clients reach this member.
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
