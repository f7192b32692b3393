package cluster

import (
	"net"

	"github.com/snowraft/snowraft/internal/places"
)

// seatedConn is an established connection with a place. When there are too many, one connection of the address with the most
// connections is closed: the one that has been silent longest. Raft keeps connections that it does not use, and a stranger
// can open any number of connections to an open member.
type seatedConn struct{ places.Conn }

// seated takes a place for a connection; it returns false if there is none.
func seated(conn net.Conn, at *places.Places) (net.Conn, bool) {
	place, ok := at.Take(conn.RemoteAddr(), func() { _ = conn.Close() })
	if !ok {
		return nil, false
	}
	return &seatedConn{places.Conn{Conn: conn, Place: place}}, true
}

// Read implements net.Conn.
func (c *seatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.Place.Heard()
	}
	return n, err
}
