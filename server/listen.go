package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"

	"github.com/hashicorp/memberlist"
)

// ports are the bound ports of a member. They are taken before anything is
// written, so that a port in use leaves no trace.
type ports struct {
	api, http, raft net.Listener
	redis           net.Listener // nil when it is off
	gossip          *memberlist.NetTransport
	gossipIP        string // what others gossip with
	host            string // what others are told
}

func listen(ctx context.Context, cfg Config) (_ *ports, err error) {
	p := &ports{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.host, err = cfg.advertiseHost(); err != nil {
		return nil, err
	}
	ip, err := net.DefaultResolver.LookupIPAddr(ctx, p.host)
	if err != nil || len(ip) == 0 {
		return nil, fmt.Errorf("advertise-host %s can't be resolved: %w", p.host, err)
	}
	p.gossipIP = ip[0].IP.String()
	for _, l := range []struct {
		to         *net.Listener
		addr, flag string
	}{
		{&p.api, cfg.APIAddr, "api-addr"}, {&p.http, cfg.HTTPAddr, "http-addr"}, {&p.raft, cfg.RaftAddr, "raft-addr"},
		{&p.redis, cfg.RedisAddr, "redis-addr"},
	} {
		if l.to == &p.redis && l.addr == "" {
			continue
		}
		if *l.to, err = listenAt(ctx, l.flag, l.addr); err != nil {
			return nil, err
		}
	}
	host, port, err := net.SplitHostPort(cfg.GossipAddr)
	if err != nil {
		return nil, fmt.Errorf("--gossip-addr %s: expected host:port", cfg.GossipAddr)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("--gossip-addr %s: the port must be a number from 0 to 65535", cfg.GossipAddr)
	}
	if host == "" {
		host = "0.0.0.0"
	} else {
		// memberlist takes what is no IP address for all interfaces.
		a, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil || len(a) == 0 {
			return nil, fmt.Errorf("--gossip-addr %s: the host can't be resolved: %w", cfg.GossipAddr, err)
		}
		host = a[0].IP.String()
	}
	p.gossip, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{host}, BindPort: int(number), Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		return nil, fmt.Errorf("--gossip-addr %s: %w", cfg.GossipAddr, err)
	}
	return p, nil
}

// listenAt binds the address that a flag gave.
func listenAt(ctx context.Context, flag, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, addr, cause(err))
	}
	return l, nil
}

// cause strips what net says around the reason; the flag and the address were told already.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

func (p *ports) close() {
	for _, l := range []net.Listener{p.api, p.http, p.raft, p.redis} {
		if l != nil {
			_ = l.Close()
		}
	}
	if p.gossip != nil {
		_ = p.gossip.Shutdown()
	}
}

// advertised is a bound address as others reach it.
func (p *ports) advertised(l net.Listener) string {
	if p.host == "" { // nobody is told
		return l.Addr().String()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(p.host, port)
}
