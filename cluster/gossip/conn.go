package gossip

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/slots"
)

// requestedConn is a stream that another node opened.
type requestedConn struct {
	slots.Conn
	ring ring
	said bytes.Reader // the whole request; nothing follows it
	to   io.Writer    // seals the answer; nil if the answer is not sealed
}

func (c *requestedConn) readRequest() error {
	if err := c.SetReadDeadline(time.Now().Add(gossipTimeout)); err != nil {
		return err
	}
	said, err := c.request()
	if err != nil {
		c.explainRefusal(err)
		return err
	}
	c.Slot.Spoke() // memberlist answers at once, and closes
	c.said.Reset(said)
	return c.SetReadDeadline(time.Time{})
}

func (c *requestedConn) request() ([]byte, error) {
	buffered := bufio.NewReader(c.Conn)
	if c.ring.sign == nil {
		if screen.BeginsSealed(buffered, gossipLabel) {
			return nil, screen.ErrSealed
		}
		return screen.Request(buffered, gossipLabel, maxPeers)
	}
	unsealer := screen.NewUnsealer(buffered, c.ring.all, gossipLabel, nil)
	opened := bufio.NewReader(unsealer)
	if _, err := opened.Peek(1); err != nil {
		return nil, err
	}
	c.Slot.Heard() // a recorded request opens as well, so this does not keep the slot
	said, err := screen.Request(opened, gossipLabel, maxPeers)
	if key, first := unsealer.Key(); key != nil {
		c.to = screen.NewSealer(c.Conn.Conn, key, gossipLabel, first) // the caller has this key
	}
	return said, err
}

// explainRefusal answers a caller that this node cannot understand, so that the caller can log the reason. The answer has no content:
// its form alone shows whether this node seals its messages.
func (c *requestedConn) explainRefusal(reason error) {
	_ = c.SetWriteDeadline(time.Now().Add(gossipTimeout))
	switch {
	case errors.Is(reason, screen.ErrSealed):
		_, _ = c.Conn.Write(screen.Unsealed())
	case errors.Is(reason, screen.ErrUnsealed), errors.Is(reason, screen.ErrOtherKey):
		_, _ = screen.NewSealer(c.Conn.Conn, c.ring.sign, gossipLabel, []byte{}).Write(nil)
	default:
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, screen.MaxState) // closing with unread bytes could lose the answer
}

// Read implements net.Conn.
func (c *requestedConn) Read(b []byte) (int, error) { return c.said.Read(b) }

// Write implements net.Conn.
func (c *requestedConn) Write(b []byte) (int, error) {
	if c.to != nil {
		return c.to.Write(b)
	}
	return c.Conn.Write(b)
}

// answeredConn is a stream that this node opened. Its first Read waits for the whole answer.
type answeredConn struct {
	net.Conn
	ring     ring
	sealer   *screen.Sealer // nil in an open cluster
	said     *bytes.Reader  // nil before the answer; nothing follows it
	misheard func(error)
	forget   func() bool // does without the end of lasts
}

// newAnsweredConn returns a stream, which closes when lasts ends.
func newAnsweredConn(lasts context.Context, conn net.Conn, r ring, misheard func(error)) *answeredConn {
	c := &answeredConn{Conn: conn, ring: r, misheard: misheard}
	c.forget = context.AfterFunc(lasts, func() { _ = conn.Close() })
	if r.sign != nil {
		c.sealer = screen.NewSealer(conn, r.sign, gossipLabel, nil)
	}
	return c
}

// Close implements net.Conn.
func (c *answeredConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// Write implements net.Conn.
func (c *answeredConn) Write(b []byte) (int, error) {
	if c.sealer != nil {
		return c.sealer.Write(b)
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *answeredConn) Read(b []byte) (int, error) {
	if c.said == nil {
		said, err := c.answer()
		if err != nil {
			c.misheard(err)
			return 0, err
		}
		c.said = bytes.NewReader(said)
	}
	return c.said.Read(b)
}

func (c *answeredConn) answer() ([]byte, error) {
	buffered := bufio.NewReader(c.Conn)
	if c.sealer == nil {
		if first, err := buffered.Peek(1); err == nil && first[0] == screen.LabelHead(gossipLabel)[0] {
			return nil, screen.ErrSealed // answers carry no label
		}
		return screen.Answer(buffered, maxPeers)
	}
	return screen.Answer(screen.NewUnsealer(buffered, c.ring.all, gossipLabel, c.sealer.First()), maxPeers)
}
