package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/server/frontend"
)

// ports are the bound ports of a member.
type ports struct {
	*frontend.Ports
	raft       net.Listener
	gossip     memberlist.NodeAwareTransport
	gossipIP   string // other members gossip with it
	gossipPort int
}

// Network listens and dials for a member.
type Network interface {
	frontend.Network
	// ListenGossip binds the port of gossip at an IP address, and returns the bound port.
	ListenGossip(ip string, port int) (memberlist.NodeAwareTransport, int, error)
}

// Machine returns the network of the machine.
func Machine() Network { return new(machine) }

// machine is the network of the machine.
type machine struct{ frontend.Machine }

// ListenGossip implements Network.
func (*machine) ListenGossip(ip string, port int) (memberlist.NodeAwareTransport, int, error) {
	gossip, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{ip}, BindPort: port, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return nil, 0, err
	}
	return gossip, gossip.GetAutoBindPort(), nil
}

func listen(ctx context.Context, cfg Config) (_ *ports, err error) {
	host, err := cfg.advertiseHost()
	if err != nil {
		return nil, err
	}
	ip, err := gossipIP(ctx, cfg, host)
	if err != nil {
		return nil, err
	}
	p := &ports{gossipIP: ip.String()}
	if p.Ports, err = frontend.Listen(ctx, cfg.Network, frontend.Addresses{
		API: cfg.APIAddr, HTTP: cfg.HTTPAddr, Redis: cfg.RedisAddr, Thrift: cfg.ThriftAddr, HTTPSocket: cfg.HTTPSocket, RedisSocket: cfg.RedisSocket,
	}); err != nil {
		return nil, err
	}
	p.Host, p.Names = host, cfg.HTTPHosts
	if p.raft, err = frontend.ListenAt(ctx, cfg.Network, "raft-addr", cfg.RaftAddr); err == nil {
		p.gossip, p.gossipPort, err = listenGossip(ctx, cfg)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	if ip.IsLoopback() {
		warnOfLoopback(ctx, cfg, ip)
	}
	return p, nil
}

// httpPort returns the port of the HTTP listener; 0 if other hosts cannot reach it, as another program may have that port of the
// host.
func (p *ports) httpPort() uint16 {
	at, ok := p.HTTP.Addr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() && !net.ParseIP(p.gossipIP).IsLoopback() {
		return 0
	}
	return at.AddrPort().Port()
}

// gossipIP returns the address that other members gossip with: that of the host. A name can lead back to this machine only: Debian
// writes the machine's own name into /etc/hosts with 127.0.1.1. The address is then the one from which packets to another
// member leave, or without other members those to other networks. No packet is sent. It fails while the route to another member
// is unknown, because a wrong address would stay until the process restarts.
func gossipIP(ctx context.Context, cfg Config, host string) (net.IP, error) {
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("advertise-host %q: cannot be resolved: %w", host, err)
	}
	ip := found[0].IP
	listens, _, _ := net.SplitHostPort(cfg.GossipAddr) // listenGossip checks it
	if all := net.ParseIP(listens); !ip.IsLoopback() || net.ParseIP(host) != nil || (listens != "" && !all.IsUnspecified()) {
		return ip, nil
	}
	others := cfg.Join
	if len(others) == 0 {
		others = anywhere
	}
	var unknown error
	for _, other := range others {
		from, err := sourceTo(ctx, other)
		if err == nil && !from.IsLoopback() {
			cfg.Logger.Info("host name resolves to this machine only; gossip uses another address", "host", host, "address", from)
			return from, nil
		}
		unknown = cmp.Or(unknown, err) // one of them is enough for an error in one line
	}
	if unknown != nil && len(cfg.Join) > 0 {
		return nil, fmt.Errorf("advertise-host %q: resolves to %s, which other machines cannot reach, and join has members whose route is unknown; "+
			"set advertise-host to an address of this machine, or try again: %w", host, ip, unknown)
	}
	return ip, nil
}

// loopbackCheck bounds the time in which warnOfLoopback resolves names.
const loopbackCheck = 5 * time.Second

// warnOfLoopback warns if a member with a loopback address joins members on other machines, which cannot reach it. Its own lines
// about them do not show that: it reaches them.
func warnOfLoopback(ctx context.Context, cfg Config, ip net.IP) {
	ctx, cancel := context.WithTimeout(ctx, loopbackCheck)
	defer cancel()
	for _, other := range cfg.Join {
		if from, err := sourceTo(ctx, other); err == nil && !from.IsLoopback() {
			cfg.Logger.Warn("loopback address advertised to members on other machines; set advertise-host", "address", ip, "join", other)
			return
		}
	}
}

// anywhere are addresses for documentation (RFC 5737, RFC 3849): their route is that to other networks.
var anywhere = []string{"192.0.2.1:9", "[2001:db8::1]:9"}

// sourceTo returns the local address of packets to another.
func sourceTo(ctx context.Context, address string) (net.IP, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.LocalAddr().(*net.UDPAddr).IP, nil
}

func listenGossip(ctx context.Context, cfg Config) (memberlist.NodeAwareTransport, int, error) {
	host, port, err := net.SplitHostPort(cfg.GossipAddr)
	if err != nil {
		return nil, 0, fmt.Errorf("--gossip-addr %s: expected host:port", cfg.GossipAddr)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, 0, fmt.Errorf("--gossip-addr %s: the port must be a number from 0 to 65535", cfg.GossipAddr)
	}
	if host == "" {
		host = "0.0.0.0"
	} else {
		// memberlist listens on all interfaces if the host is not an IP address.
		a, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil || len(a) == 0 {
			return nil, 0, fmt.Errorf("--gossip-addr %s: the host cannot be resolved: %w", cfg.GossipAddr, err)
		}
		host = a[0].IP.String()
	}
	gossip, bound, err := cfg.network().ListenGossip(host, int(number))
	if err != nil {
		return nil, 0, fmt.Errorf("--gossip-addr %s: %w", cfg.GossipAddr, err)
	}
	return gossip, bound, nil
}

func (p *ports) close() {
	p.Close()
	if p.raft != nil {
		_ = p.raft.Close()
	}
	if p.gossip != nil {
		_ = p.gossip.Shutdown()
	}
}
