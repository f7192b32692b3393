package slots

import (
	"net"
	"net/netip"
)

// Conn is a connection that has a slot until it is closed.
type Conn struct {
	net.Conn
	Slot *Slot
}

// Close releases the slot and closes the connection. It may be called again.
func (c *Conn) Close() error {
	c.Slot.Release()
	return c.Conn.Close()
}

// Origin returns the address that a connection or a datagram counts for. For IPv6 it is the /64 network, because one host has
// all addresses of a /64. It is invalid for connections inside a process.
func Origin(addr net.Addr) netip.Prefix {
	var ip netip.Addr
	switch addr := addr.(type) {
	case *net.TCPAddr:
		ip = addr.AddrPort().Addr().Unmap()
	case *net.UDPAddr:
		ip = addr.AddrPort().Addr().Unmap()
	}
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
