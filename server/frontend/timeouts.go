package frontend

import (
	"errors"
	"net"
	"sync"
	"time"
)

// timeoutPeriod is the largest delay with which the deadline of a connection is enforced.
const timeoutPeriod = time.Second

// timeouts enforces the deadlines of connections. net/http sets several deadlines per request, and they rarely pass. With the
// deadlines of package net, each would reset a runtime timer. Together those resets cost a twentieth of the time of a small
// request.
type timeouts struct {
	mu    sync.Mutex
	conns map[*timedConn]struct{}
	empty chan struct{} // stops the enforcing goroutine, which runs while there are connections
}

func (t *timeouts) add(c *timedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.conns) == 0 {
		t.conns, t.empty = make(map[*timedConn]struct{}), make(chan struct{})
		go t.enforce(t.empty)
	}
	t.conns[c] = struct{}{}
}

func (t *timeouts) remove(c *timedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.conns[c]; !ok {
		return
	}
	delete(t.conns, c)
	if len(t.conns) == 0 {
		close(t.empty)
	}
}

func (t *timeouts) enforce(empty <-chan struct{}) {
	tick := time.NewTicker(timeoutPeriod)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.look(now)
		case <-empty:
			return
		}
	}
}

func (t *timeouts) look(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		c.reads.look(now)
		c.writes.look(now)
	}
}

// timedListener accepts connections whose deadlines timeouts enforces.
type timedListener struct {
	net.Listener
	timeouts timeouts
}

// Accept implements net.Listener.
func (l *timedListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &timedConn{Conn: nc, of: &l.timeouts, reads: timeout{setDeadline: nc.SetReadDeadline}, writes: timeout{setDeadline: nc.SetWriteDeadline}}
	l.timeouts.add(c)
	return c, nil
}

type timedConn struct {
	net.Conn
	of            *timeouts
	reads, writes timeout
}

// Close implements net.Conn.
func (c *timedConn) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}

// CloseWrite closes the writing side of the connection.
func (c *timedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetReadDeadline implements net.Conn, as do SetWriteDeadline and SetDeadline.
func (c *timedConn) SetReadDeadline(at time.Time) error { return c.reads.set(at) }

func (c *timedConn) SetWriteDeadline(at time.Time) error { return c.writes.set(at) }

func (c *timedConn) SetDeadline(at time.Time) error {
	return errors.Join(c.reads.set(at), c.writes.set(at))
}

// timeout is a deadline of one direction of a connection.
type timeout struct {
	setDeadline func(time.Time) error // sets the deadline of the connection

	mu     sync.Mutex
	at     time.Time // zero: none
	passed bool      // the connection has an expired deadline
}

// longAgo is a deadline that takes effect at once. net/http sets such a deadline to interrupt a read.
var longAgo = time.Unix(1, 0)

// set sets a deadline. A deadline up to longAgo takes effect at once, and so does its removal.
func (t *timeout) set(at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	over := !at.IsZero() && !at.After(longAgo)
	if !over && !t.passed {
		return nil
	}
	t.passed = over
	if over {
		return t.setDeadline(at)
	}
	return t.setDeadline(time.Time{})
}

// look enforces the deadline if it has passed.
func (t *timeout) look(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.passed && !t.at.IsZero() && !now.Before(t.at) {
		t.passed = true
		_ = t.setDeadline(longAgo)
	}
}
