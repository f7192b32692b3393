// Package memnet is a network in memory. Only tests import it.
//
// Its connections behave like TCP on one machine without latency. A Network that is made in a bubble of testing/synctest blocks
// the goroutines of that bubble durably, so the bubble's time passes while they wait.
package memnet

import (
	"context"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	"github.com/hashicorp/memberlist"
)

// Free ports begin at firstPort, as on a machine.
const firstPort = 32768

// Network connects hosts. Its methods may be called from any goroutine.
type Network struct {
	mu        sync.Mutex
	port      uint16 // last port that was taken from the free ones
	listeners map[netip.AddrPort]*listener
	gossip    map[netip.AddrPort]*gossip
}

// New returns a network in which nothing listens.
func New() *Network {
	return &Network{port: firstPort, listeners: make(map[netip.AddrPort]*listener), gossip: make(map[netip.AddrPort]*gossip)}
}

// Host is a view of a network from one machine. It listens at any address, and dials from its own.
type Host struct {
	*Network
	ip netip.Addr
}

// Host returns the host with an IP address.
func (n *Network) Host(ip string) *Host { return &Host{n, netip.MustParseAddr(ip)} }

// free returns a free port of an address. Requires n.mu.
func (n *Network) free(ip netip.Addr) netip.AddrPort {
	for {
		n.port = max(n.port+1, firstPort)
		if at := netip.AddrPortFrom(ip, n.port); n.listeners[at] == nil {
			return at
		}
	}
}

// Listen has the signature of [net.ListenConfig.Listen]. Port 0 picks a free port.
func (h *Host) Listen(_ context.Context, network, address string) (net.Listener, error) {
	return h.listen(network, address)
}

func (h *Host) listen(network, address string) (*listener, error) {
	at, err := parse("listen", network, address)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.Port() == 0 {
		at = h.free(at.Addr())
	}
	if h.listeners[at] != nil {
		return nil, fail("listen", nil, net.TCPAddrFromAddrPort(at), os.NewSyscallError("bind", syscall.EADDRINUSE))
	}
	l := newListener(h.Network, at)
	h.listeners[at] = l
	return l, nil
}

// DialContext has the signature of [net.Dialer.DialContext]. Like TCP, it does not wait for the other side to accept. It is
// refused where nothing listens.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := parse("dial", network, address)
	if err != nil {
		return nil, err
	}
	remote := net.TCPAddrFromAddrPort(to)
	if err := ctx.Err(); err != nil {
		return nil, fail("dial", nil, remote, err)
	}
	h.mu.Lock()
	l, from := h.listeners[to], h.free(h.ip)
	h.mu.Unlock()
	if l != nil {
		if c, ok := l.connect(net.TCPAddrFromAddrPort(from)); ok {
			return c, nil
		}
	}
	return nil, fail("dial", nil, remote, os.NewSyscallError("connect", syscall.ECONNREFUSED))
}

// ListenGossip binds a port for packets and streams of memberlist, and returns the port. Port 0 picks a free port.
func (h *Host) ListenGossip(ip string, port int) (memberlist.NodeAwareTransport, int, error) {
	l, err := h.listen("tcp", (&net.TCPAddr{IP: net.ParseIP(ip), Port: port}).String())
	if err != nil {
		return nil, 0, err
	}
	g := newGossip(h, l)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gossip[l.at] = g
	return g, int(l.at.Port()), nil
}

// parse reads an address. There are no names of hosts.
func parse(op, network, address string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		err = &net.OpError{Op: op, Net: network, Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
	}
	return at, err
}

// fail returns an error in the form of package net.
func fail(op string, from, to net.Addr, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: from, Addr: to, Err: err}
}
