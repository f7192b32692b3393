package thrift

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
	timeout, failed := errors.AsType[net.Error](err)
	if err == nil || failed && timeout.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || !c.s.strange.Allow() {
		return
	}
	c.s.cfg.Logger.Warn("connection of Thrift client rejected", "address", c.net.RemoteAddr().String(), "error", err)
}

// talk answers requests. A client may be silent between requests for any time. An error that is not the end of the connection means
// that the client does not speak the protocol.
func (c *conn) talk() error {
	if !c.within(time.Now().Add(stallTimeout)) {
		return nil
	}
	how, err := c.detect()
	c.slot.Requested()
	for err == nil && c.within(time.Time{}) {
		if _, err = c.reader.Peek(1); err == nil {
			err = c.answer(how)
		}
	}
	return err
}

// within sets the deadline of reads and writes. It returns false once the server closes, which also sets a deadline.
func (c *conn) within(until time.Time) (open bool) {
	_ = c.net.SetDeadline(until)
	return c.s.Closing.Err() == nil
}

// detect returns the form of the first message without consuming it. The first four bytes are the length of a frame, the
// version of a strict message (negative), or the length of the method's name. A message follows the length of a frame.
func (c *conn) detect() (form, error) {
	head, err := c.reader.Peek(5)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case plain:
		return form{}, errors.New("the client does not speak TLS; see --client-tls, or use a gateway on the client's host")
	case err != nil && len(head) == 0:
		return form{}, io.EOF
	case err != nil:
		return form{}, fmt.Errorf("not the Thrift binary protocol: %d bytes, then %v", len(head), err) //nolint:errorlint // not the end of a connection
	case head[0] == 0x80 && head[1] == 0x01:
		return form{strict: true}, nil
	}
	if length := binary.BigEndian.Uint32(head); length == 0 || length > maxMessage {
		return form{}, fmt.Errorf("not the Thrift binary protocol: it begins with %q", head)
	}
	return form{framed: head[4] == 0x80 || head[4] == 0, strict: head[4] == 0x80}, nil
}

// arrived reads what arrives before the deadline of reads. Thrift reads again and again after a timeout, so it gets none.
type arrived struct{ io.Reader }

func (a arrived) Read(p []byte) (n int, err error) {
	if n, err = a.Reader.Read(p); errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// answer reads a request and writes the reply. After an error, the connection is unusable.
func (c *conn) answer(how form) error {
	c.slot.Begin()
	defer c.slot.End()
	_ = c.net.SetDeadline(time.Now().Add(stallTimeout))
	ctx, cancel := context.WithTimeout(c.s.Lasts, callTimeout)
	defer cancel()
	message, reply := &io.LimitedReader{R: arrived{c.reader}, N: maxMessage}, bytes.NewBuffer(make([]byte, 0, replySize))
	if how.framed {
		var head [4]byte
		if _, err := io.ReadFull(c.reader, head[:]); err != nil {
			return err
		}
		if message.N = int64(binary.BigEndian.Uint32(head[:])); message.N == 0 || message.N > maxMessage {
			return fmt.Errorf("frame of %d bytes, expected at most %d", message.N, maxMessage)
		}
		_, _ = reply.Write(head[:]) // placeholder for the length
	}
	bounds := &thrift.TConfiguration{MaxMessageSize: maxMessage, TBinaryStrictRead: &how.strict, TBinaryStrictWrite: &how.strict}
	if err := c.call(ctx, thrift.NewTBinaryProtocolConf(&thrift.StreamTransport{Reader: message, Writer: reply}, bounds)); err != nil {
		return err
	}
	if how.framed {
		if _, err := io.Copy(io.Discard, message); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(reply.Bytes(), uint32(reply.Len()-4)) //nolint:gosec // a reply is short
	}
	if _, err := reply.WriteTo(c.net); err != nil {
		return io.EOF // the client is gone
	}
	return nil
}
