package memnet

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Conn is one end of a stream between two hosts.
type Conn struct {
	in, out       *half
	local, remote *net.TCPAddr
	closed        atomic.Bool
}

// pair returns the two ends of a new stream.
func pair(dialer, acceptor *net.TCPAddr) (dialed, accepted *Conn) {
	there, back := newHalf(), newHalf()
	return &Conn{in: back, out: there, local: dialer, remote: acceptor}, &Conn{in: there, out: back, local: acceptor, remote: dialer}
}

func (c *Conn) fail(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fail(op, c.local, c.remote, err)
}

// Read implements net.Conn. Bytes that arrived before a reset can be read, as on Linux.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.fail("read", err)
}

// Write implements net.Conn. It waits while 64 KiB are unread. The first bytes after the other end closed are lost and cause a
// reset, without an error.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	if errors.Is(err, errUnheard) {
		c.reset()
		return len(b), nil
	}
	return n, c.fail("write", err)
}

// Close implements net.Conn. The other end can read what was written. If this end leaves bytes unread, it resets the
// connection.
func (c *Conn) Close() error { return c.close(false) }

// Reset closes the connection at once: the other end can neither write nor expect more bytes.
func (c *Conn) Reset() error { return c.close(true) }

func (c *Conn) close(reset bool) error {
	if c.closed.Swap(true) {
		return c.fail("close", net.ErrClosed)
	}
	unread := c.in.hangUp()
	c.out.end(true)
	if reset || unread {
		c.reset()
	}
	return nil
}

func (c *Conn) reset() {
	c.in.reset()
	c.out.reset()
}

// CloseWrite ends the writing: the other end reads the end of the stream, and can still write.
func (c *Conn) CloseWrite() error {
	if c.closed.Load() {
		return c.fail("close", net.ErrClosed)
	}
	c.out.end(false)
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(at time.Time) error {
	if c.closed.Load() {
		return c.fail("set", net.ErrClosed)
	}
	c.in.set(&c.in.reads, at)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(at time.Time) error {
	if c.closed.Load() {
		return c.fail("set", net.ErrClosed)
	}
	c.out.set(&c.out.writes, at)
	return nil
}
