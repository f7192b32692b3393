package thrift

import (
	"bufio"
	"context"
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

// form is the encoding of a client's messages. The replies have the same form.
type form struct{ framed, strict bool }

var (
	// errStrange means that a connection does not speak the protocol.
	errStrange = errors.New("not the Thrift binary protocol")
	// errPlain means that a client of a port with TLS does not speak TLS.
	errPlain = fmt.Errorf("%w: the client does not speak TLS; see --client-tls, or use a gateway on the client's host", errStrange)
)

// conn is the connection of one client. One goroutine serves it.
type conn struct {
	s      *Server
	net    net.Conn
	slot   *clients.Conn // nil without a limit
	reader *bufio.Reader
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{s: s, net: nc, slot: clients.Of(nc), reader: bufio.NewReaderSize(nc, maxMessage)}
}

// cut closes the connection without waiting for the client. A regular TLS close would wait.
func (c *conn) cut() {
	nc := c.net
	if secured, ok := nc.(*tls.Conn); ok {
		nc = secured.NetConn()
	}
	_ = nc.Close()
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer func() { _ = c.net.Close() }() // over TLS, with the notice that clients expect
	defer context.AfterFunc(c.s.open, func() { _ = c.net.SetReadDeadline(time.Unix(1, 0)) })()
	defer context.AfterFunc(c.s.lasts, c.cut)()
	if err := c.talk(); errors.Is(err, errStrange) && c.s.strange.Allow() {
		c.s.cfg.Logger.Warn("connection of Thrift client rejected", "address", c.net.RemoteAddr().String(), "error", err)
	}
}

// talk answers requests. A client may be silent between requests for any time. Once the server closes, it sets a deadline in
// the past, so talk looks whether it closes after each change of the deadline.
func (c *conn) talk() error {
	_ = c.net.SetDeadline(time.Now().Add(stallTimeout))
	if c.s.closing() {
		return nil
	}
	how, err := c.detect()
	c.slot.Requested()
	for err == nil {
		_ = c.net.SetDeadline(time.Time{})
		if c.s.closing() {
			return nil
		}
		if _, err = c.reader.Peek(1); err == nil {
			err = c.answer(how)
		}
	}
	return err
}

// detect returns the form of the first message without consuming it. The first four bytes are the length of a frame, the
// version of a strict message (negative), or the length of the method's name. A message follows the length of a frame.
func (c *conn) detect() (form, error) {
	head, err := c.reader.Peek(5)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case plain:
		return form{}, errPlain
	case err != nil && len(head) == 0:
		return form{}, io.EOF
	case err != nil:
		return form{}, fmt.Errorf("%w: %d bytes, then %w", errStrange, len(head), err)
	case head[0] == 0x80 && head[1] == 0x01:
		return form{strict: true}, nil
	}
	length := binary.BigEndian.Uint32(head)
	switch {
	case length == 0 || length > maxMessage:
		return form{}, fmt.Errorf("%w: it begins with %q", errStrange, head)
	case head[4] == 0x80:
		return form{framed: true, strict: true}, nil
	case head[4] == 0:
		return form{framed: true}, nil
	default:
		return form{}, nil
	}
}

// answer reads a request and writes the reply. After an error, the connection is unusable.
func (c *conn) answer(how form) error {
	c.slot.Begin()
	defer c.slot.End()
	_ = c.net.SetDeadline(time.Now().Add(stallTimeout))
	message := &io.LimitedReader{R: c.reader, N: maxMessage}
	out := thrift.NewTMemoryBufferLen(replySize)
	if how.framed {
		var head [4]byte
		if _, err := io.ReadFull(c.reader, head[:]); err != nil {
			return err
		}
		if message.N = int64(binary.BigEndian.Uint32(head[:])); message.N == 0 || message.N > maxMessage {
			return fmt.Errorf("%w: frame of %d bytes, expected at most %d", errStrange, message.N, maxMessage)
		}
		_, _ = out.Write(head[:]) // placeholder for the length
	}
	ctx, cancel := context.WithTimeout(c.s.lasts, callTimeout)
	defer cancel()
	switch err := c.call(ctx, protocol(&thrift.StreamTransport{Reader: message}, how), protocol(out, how)); {
	case err != nil && message.N == 0:
		return fmt.Errorf("%w: the message is longer than its frame, or than %d bytes", errStrange, maxMessage)
	case err != nil:
		return strange(err)
	}
	reply := out.Bytes()
	if how.framed {
		if _, err := c.reader.Discard(int(message.N)); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(reply, uint32(len(reply)-4)) //nolint:gosec // a reply is short
	}
	_, err := c.net.Write(reply)
	return err
}

// protocol reads and writes the messages of a form.
func protocol(t thrift.TTransport, how form) thrift.TProtocol {
	return thrift.NewTBinaryProtocolConf(t, &thrift.TConfiguration{
		MaxMessageSize: maxMessage, MaxFrameSize: maxMessage, TBinaryStrictRead: &how.strict, TBinaryStrictWrite: &how.strict,
	})
}
