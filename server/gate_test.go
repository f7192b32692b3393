package server_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server"
)

// gate is a network of members in which a test stops what arrives at one port. At the Raft port of a follower, it stops the log.
type gate struct {
	server.Network
	closed atomic.Pointer[closure] // nil while nothing is stopped
}

// closure is the time for which a gate is closed.
type closure struct {
	port string // host:port
	over chan struct{}
}

// members lets members use the network. A follower that receives nothing calls no election meanwhile.
func (g *gate) members(c *server.Config) { c.Network, c.Timing.Heartbeat = g, time.Hour }

// close stops what arrives at a port, until open is called.
func (g *gate) close(t *testing.T, port string) (open func()) {
	t.Helper()
	c := &closure{port, make(chan struct{})}
	g.closed.Store(c)
	open = sync.OnceFunc(func() {
		g.closed.Store(nil)
		close(c.over)
	})
	t.Cleanup(open) // before the members are closed
	return open
}

func (g *gate) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := g.Network.Listen(ctx, network, address)
	return gatedListener{l, g}, err
}

type gatedListener struct {
	net.Listener
	gate *gate
}

func (l gatedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return gatedConn{conn, l.gate}, err
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if at := c.gate.closed.Load(); at != nil && at.port == c.LocalAddr().String() {
		<-at.over
	}
	return n, err
}
