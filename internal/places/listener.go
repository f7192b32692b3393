package places

import (
	"net"
	"sync/atomic"
)

// listener gives each connection a place, which it has until it is closed.
type listener struct {
	net.Listener
	places  *Places
	refused func(net.Addr)
}

// Listen returns a listener that closes connections for which there is no place, and calls refused for each. One that
// has sent nothing yet makes way for another.
func Listen(l net.Listener, p *Places, refused func(net.Addr)) net.Listener {
	return &listener{l, p, refused}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		place, ok := l.places.Take(nc.RemoteAddr(), func() { _ = nc.Close() })
		if ok {
			return &conn{Conn: Conn{nc, place}}, nil
		}
		_ = nc.Close()
		l.refused(nc.RemoteAddr())
	}
}

// Conn is a connection that has a place until it is closed.
type Conn struct {
	net.Conn
	Place *Place
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.Place.Release()
	return c.Conn.Close()
}

// conn is a connection whose place can be taken away until something was read.
type conn struct {
	Conn
	spoke atomic.Bool
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Conn.Read(b)
	if n > 0 && !c.spoke.Load() && !c.spoke.Swap(true) {
		c.Place.Spoke()
	}
	return n, err
}

// CloseWrite ends what is sent, where the connection can: net/http does so to let an answer arrive before the end.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
