package cluster

import (
	"net"

	"github.com/snowraft/snowraft/internal/places"
)

// seatedConn is an established connection. When there are too many, one of the address that has the most makes way, the one that
// said nothing for longest: raft keeps connections that it does not use, and a stranger at an open member may open any number.
type seatedConn struct{ places.Conn }

// seated gives a connection a place; false if there is none.
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
