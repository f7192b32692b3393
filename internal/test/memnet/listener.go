package memnet

import (
	"net"
	"net/netip"
	"sync"
)

// listener holds the connections that wait to be accepted.
type listener struct {
	net *Network
	at  netip.AddrPort

	mu      sync.Mutex
	changed sync.Cond
	waiting []*Conn
	closed  bool
}

func newListener(n *Network, at netip.AddrPort) *listener {
	l := &listener{net: n, at: at}
	l.changed.L = &l.mu
	return l
}

// connect adds a connection from an address, and returns the dialer's end. It is refused once the listener is closed.
func (l *listener) connect(from *net.TCPAddr) (*Conn, bool) {
	dialed, accepted := pair(from, net.TCPAddrFromAddrPort(l.at))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.waiting = append(l.waiting, accepted)
	l.changed.Signal()
	return dialed, true
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return nil, fail("accept", nil, l.Addr(), net.ErrClosed)
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	return c, nil
}

// Close implements net.Listener. It resets the connections that were not accepted.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fail("close", nil, l.Addr(), net.ErrClosed)
	}
	l.closed = true
	l.changed.Broadcast()
	for _, c := range l.waiting {
		_ = c.Reset()
	}
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	delete(l.net.listeners, l.at)
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }
