package thrift

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	clients "github.com/snowraft/snowraft/server/conn"
)

const (
	maxMessage = 4 << 10 // bytes of a request; the longest valid request has a user agent
	replySize  = 128     // bytes; enough for most replies
)

// conn is the connection of one client. One goroutine serves it.
type conn struct {
	s      *Server
	net    net.Conn
	slot   *clients.Conn // nil without a limit
	reader *bufio.Reader
}

func (s *Server) newConn(nc net.Conn) *conn {
	return &conn{s: s, net: nc, slot: clients.Of(nc), reader: bufio.NewReaderSize(nc, maxMessage)}
}

// Serve implements [clients.Client].
func (c *conn) Serve() {
	defer func() { _ = c.net.Close() }() // over TLS, with the notice that clients expect
	err := c.talk()
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		err = errors.New("the client does not speak TLS; see --client-tls, or use a gateway on the client's host")
	}
	timeout, failed := errors.AsType[net.Error](err)
	if failed && timeout.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || !c.s.strange.Allow() {
		return
	}
	c.s.logger.Warn("connection of Thrift client rejected", "address", c.net.RemoteAddr().String(), "error", err)
}

// talk answers requests until an error ends the connection. A client begins its first request soon, and may be silent between
// requests for any time.
func (c *conn) talk() error {
	for silentUntil := time.Now().Add(stallTimeout); ; silentUntil = (time.Time{}) {
		_ = c.net.SetDeadline(silentUntil)
		if c.s.Closing.Err() != nil {
			return io.EOF // a deadline of Close may have been overwritten
		}
		if _, err := c.reader.Peek(1); err != nil {
			return err
		}
		c.slot.Requested()
		if err := c.answer(); err != nil {
			return err
		}
	}
}

// answer reads a request and writes the reply in the same form. The first four bytes of a request are the length of a frame, the
// version of a strict message (negative), or the length of the method's name. A message follows the length of a frame.
func (c *conn) answer() error {
	c.slot.Begin()
	defer c.slot.End()
	_ = c.net.SetDeadline(time.Now().Add(stallTimeout))
	head, err := c.reader.Peek(5)
	if err != nil {
		return fmt.Errorf("not the Thrift binary protocol: %d bytes, then %v", len(head), err) //nolint:errorlint // not the end of a connection
	}
	message, reply := &io.LimitedReader{R: c.reader, N: maxMessage}, bytes.NewBuffer(make([]byte, 4, replySize)) // first the length of a frame
	framed, strict := false, head[0] == 0x80
	switch length := int64(binary.BigEndian.Uint32(head)); {
	case strict:
	case length == 0 || length > maxMessage:
		return fmt.Errorf("not the Thrift binary protocol: it begins with %q", head)
	case head[4] == 0x80 || head[4] == 0:
		framed, strict, message.N = true, head[4] == 0x80, length
		_, _ = c.reader.Discard(4)
	}
	bounds := &thrift.TConfiguration{MaxMessageSize: maxMessage, TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	if err := c.call(thrift.NewTBinaryProtocolConf(&thrift.StreamTransport{Reader: message, Writer: reply}, bounds)); err != nil {
		return err
	}
	if framed {
		if _, err := io.Copy(io.Discard, message); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(reply.Bytes(), uint32(reply.Len()-4)) //nolint:gosec // a reply is short
	} else {
		reply.Next(4)
	}
	if _, err := reply.WriteTo(c.net); err != nil {
		return io.EOF // the client is gone
	}
	return nil
}
