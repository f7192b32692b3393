package cluster

import (
	"net"
	"net/netip"
	"sync"
)

// places bounds the connections that have not shown yet that they are of members: all of them, and those from
// one address, so that a host whose connections are silent does not take the places of all others.
type places struct {
	all, each int

	mu    sync.Mutex
	taken int
	from  map[netip.Prefix]int
}

func newPlaces(all, each int) *places {
	return &places{all: all, each: each, from: make(map[netip.Prefix]int)}
}

// take takes a place for a connection; false if there is none. The caller calls release once.
func (p *places) take(addr net.Addr) (release func(), ok bool) {
	from := origin(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.all || (from.IsValid() && p.from[from] >= p.each) {
		return nil, false
	}
	p.taken++
	p.from[from]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.from[from]--; p.from[from] == 0 {
			delete(p.from, from)
		}
	}, true
}

// origin is the address that a connection counts for. Of IPv6 it is the network, because one host has all of a /64.
// It is invalid for connections inside a process.
func origin(addr net.Addr) netip.Prefix {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// placedConn is a connection that has a place until it is closed.
type placedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *placedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
