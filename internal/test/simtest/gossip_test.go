package simtest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// gossipPort is a process's gossip transport. memberlist's own mock has
// addresses that change with every start, and blocks while a receiver is gone.
type gossipPort struct {
	net     *network
	self    *process
	packets chan *memberlist.Packet
	streams chan net.Conn
}

var _ memberlist.NodeAwareTransport = (*gossipPort)(nil)

func newGossipPort(n *network, self *process) *gossipPort {
	return &gossipPort{
		net: n, self: self,
		packets: make(chan *memberlist.Packet, 64), streams: make(chan net.Conn, 8),
	}
}

func (g *gossipPort) addr() net.Addr {
	return &net.UDPAddr{IP: g.self.node.ip(), Port: gossipPortNumber}
}

func (g *gossipPort) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return g.self.node.ip(), gossipPortNumber, nil
}

func (g *gossipPort) WriteTo(b []byte, addr string) (time.Time, error) {
	return g.WriteToAddress(b, memberlist.Address{Addr: addr})
}

// WriteToAddress sends a packet. It does not report a lost packet.
func (g *gossipPort) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	to := g.net.at(a.Addr).proc()
	if to != nil {
		packet := &memberlist.Packet{Buf: bytes.Clone(b), From: g.addr()}
		time.AfterFunc(g.net.latency(gossipPlane), func() {
			if !g.net.passes(gossipPlane, g.self, to) {
				return
			}
			packet.Timestamp = time.Now()
			select {
			case to.gossip.packets <- packet:
			default:
			}
		})
	}
	return time.Now(), nil
}

func (g *gossipPort) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return g.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

func (g *gossipPort) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	to := g.net.at(a.Addr).proc()
	if to == nil || g.self.dead.Load() {
		return nil, errRefused
	}
	if !g.net.passes(gossipPlane, g.self, to) || !g.net.passes(gossipPlane, to, g.self) {
		time.Sleep(timeout)
		return nil, errTimeout
	}
	ours, theirs := net.Pipe()
	broken := new(atomic.Bool)
	select {
	case to.gossip.streams <- newGossipConn(theirs, g.net, to, g.self, broken):
		return newGossipConn(ours, g.net, g.self, to, broken), nil
	default:
		return nil, errRefused
	}
}

func (g *gossipPort) PacketCh() <-chan *memberlist.Packet { return g.packets }
func (g *gossipPort) StreamCh() <-chan net.Conn           { return g.streams }
func (g *gossipPort) Shutdown() error                     { return nil }

// gossipConn is one end of a stream. As with TCP, a write does not wait for the
// reader. After a loss, nothing more arrives, not even the end of the stream, and
// readers wait for their deadlines.
type gossipConn struct {
	net.Conn
	net      *network
	from, to *process
	broken   *atomic.Bool
	queue    chan []byte
	once     sync.Once
}

// streamTimeout is the time that bytes wait for a reader.
const streamTimeout = 30 * time.Second

func newGossipConn(pipe net.Conn, n *network, from, to *process, broken *atomic.Bool) *gossipConn {
	c := &gossipConn{Conn: pipe, net: n, from: from, to: to, broken: broken, queue: make(chan []byte, 256)}
	go c.pump()
	return c
}

func (c *gossipConn) pump() {
	idle := time.NewTimer(2 * streamTimeout) // end of a stream that no member accepted
	defer idle.Stop()
	for {
		select {
		case b, more := <-c.queue:
			if !more {
				if !c.broken.Load() {
					_ = c.Conn.Close()
				}
				return
			}
			if !c.net.passes(gossipPlane, c.from, c.to) {
				c.broken.Store(true)
			}
			if c.broken.Load() {
				continue
			}
			_ = c.SetWriteDeadline(time.Now().Add(streamTimeout))
			if _, err := c.Conn.Write(b); err != nil {
				c.broken.Store(true)
			}
		case <-idle.C:
			_ = c.Conn.Close()
			return
		}
	}
}

func (c *gossipConn) Write(b []byte) (int, error) {
	select {
	case c.queue <- bytes.Clone(b):
		return len(b), nil
	default:
		return 0, errTimeout
	}
}

func (c *gossipConn) Close() error {
	c.once.Do(func() { close(c.queue) })
	return nil
}
