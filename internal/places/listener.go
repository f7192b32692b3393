package places

import (
	"net"
)

// listener gives each connection a place until the connection is closed.
type listener struct {
	net.Listener
	places  *Places
	refused func(net.Addr)
}

// Listen returns a listener that closes connections for which there is no place, and calls refused with the address of each,
// on the goroutine of Accept. Its connections are [*Conn]s. Other connections can evict them until [Place.Spoke].
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
			return &Conn{nc, place}, nil
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

// Of returns the place of a connection that [Listen] accepted, also if TLS or another layer with a method NetConn wraps the
// connection. It returns nil for any other connection.
func Of(nc net.Conn) *Place {
	for {
		switch c := nc.(type) {
		case *Conn:
			return c.Place
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// Close releases the place and closes the connection. It may be called again.
func (c *Conn) Close() error {
	c.Place.Release()
	return c.Conn.Close()
}

// CloseWrite closes the sending side, if the connection supports that. net/http uses it so that an answer arrives before the
// connection closes.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
