package frontend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/server/socket"
)

// Network listens and dials for a process, with the methods of [net.ListenConfig] and [net.Dialer].
type Network interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Machine is the network of the machine.
type Machine struct {
	net.ListenConfig
	net.Dialer
}

// DialOptions returns the options for gRPC connections in a network; nil is the machine's network.
func DialOptions(in Network) []grpc.DialOption {
	if in == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return in.DialContext(ctx, "tcp", address)
	})}
}

// Ports holds the bound ports for clients. A process binds them before it writes anything, so that a port in use leaves no
// trace.
type Ports struct {
	API, HTTP net.Listener
	Redis     net.Listener // nil if Redis's protocol is off
	Thrift    net.Listener // nil if Thrift is off
	// HTTPSocket and RedisSocket are Unix sockets for the same protocols, without TLS; nil if they are off.
	HTTPSocket, RedisSocket net.Listener
	// Host is the advertised host; if empty, the bound address is advertised.
	Host string
	// Names are further names by which browsers may reach the HTTP port of an open process.
	Names []string
}

// Addresses holds the addresses to bind, as host:port, and sockets. Port 0 picks a free port. An empty Redis or Thrift address turns
// that port off, and an empty path turns that socket off.
type Addresses struct {
	API, HTTP, Redis, Thrift string
	HTTPSocket, RedisSocket  socket.File
}

// Listen binds the sockets, and the ports in a network. The caller must close both. A nil network is that of the machine. ctx bounds the resolution of
// host names. An error names the flag of the port; all ports are closed then.
func Listen(ctx context.Context, in Network, at Addresses) (p *Ports, err error) {
	p = &Ports{}
	for _, port := range []struct {
		flag, address string
		listener      *net.Listener
		optional      bool
	}{
		{"api-addr", at.API, &p.API, false},
		{"http-addr", at.HTTP, &p.HTTP, false},
		{"redis-addr", at.Redis, &p.Redis, true},
		{"thrift-addr", at.Thrift, &p.Thrift, true},
	} {
		if port.optional && port.address == "" {
			continue
		}
		l, err := ListenAt(ctx, in, port.flag, port.address)
		if err != nil {
			p.Close()
			return nil, err
		}
		*port.listener = l
	}
	for _, s := range []struct {
		flag     string
		at       socket.File
		listener *net.Listener
	}{
		{"http-socket", at.HTTPSocket, &p.HTTPSocket},
		{"redis-socket", at.RedisSocket, &p.RedisSocket},
	} {
		if s.at.Path == "" {
			continue
		}
		l, err := socket.Listen(ctx, s.at)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("--%s %s: %w", s.flag, s.at.Path, cause(err))
		}
		*s.listener = l
	}
	return p, nil
}

// present returns the listeners that are on.
func present(ls ...net.Listener) []net.Listener {
	return slices.DeleteFunc(ls, func(l net.Listener) bool { return l == nil })
}

// ListenAt binds the TCP address of a flag, whose name has no dashes at its beginning. An error names the flag.
func ListenAt(ctx context.Context, in Network, flag, addr string) (net.Listener, error) {
	if in == nil {
		in = new(Machine)
	}
	l, err := in.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, addr, cause(err))
	}
	return l, nil
}

// cause strips the operation and the address that package net adds, because the error already names the flag and the address.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// Close closes the ports that are open. It may be called again.
func (p *Ports) Close() {
	for _, l := range present(p.API, p.HTTP, p.Redis, p.Thrift, p.HTTPSocket, p.RedisSocket) {
		_ = l.Close()
	}
}

// Advertised returns a bound address in the form by which other processes reach it; empty for a port that is off.
func (p *Ports) Advertised(l net.Listener) string {
	switch {
	case l == nil:
		return ""
	case p.Host == "":
		return l.Addr().String()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(p.Host, port)
}
