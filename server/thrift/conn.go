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
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/internal/places"
	"github.com/snowraft/snowraft/trust"
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
	place  *places.Place // nil without a limit
	reader *bufio.Reader
	began  time.Time

	mu      sync.Mutex
	busy    bool          // a request is being served
	closing bool          // the connection ends when it is not busy
	rested  time.Duration // end of the last request, since began
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{s: s, net: nc, place: places.Of(nc), reader: bufio.NewReaderSize(nc, maxMessage), began: time.Now()}
}

// Idle implements places.Idler.
func (c *conn) Idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return 0
	}
	return time.Since(c.began) - c.rested
}

// drain ends the connection once no request is being served.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	if !c.busy {
		c.cut()
	}
}

// cut closes the connection without waiting for the client. A regular TLS close would wait.
func (c *conn) cut() {
	nc := c.net
	if secured, ok := nc.(*tls.Conn); ok {
		nc = secured.NetConn()
	}
	_ = nc.Close()
}

// enter begins a request. It returns false if the connection must end.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = !c.closing
	return c.busy
}

// leave ends a request. It returns false if the connection must end.
func (c *conn) leave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy, c.rested = false, time.Since(c.began)
	return !c.closing
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer func() { _ = c.net.Close() }() // over TLS, with the notice that clients expect
	how, err := c.detect()
	for err == nil {
		if _, err = c.reader.Peek(1); err != nil { // a client may be silent between requests for any time
			break
		}
		if !c.enter() {
			return
		}
		_ = c.net.SetDeadline(time.Now().Add(stallTimeout))
		err = c.answer(how)
		_ = c.net.SetDeadline(time.Time{})
		if !c.leave() {
			return
		}
	}
	if errors.Is(err, errStrange) {
		if c.s.strange.Allow() {
			c.s.cfg.Logger.Warn("connection of Thrift client rejected", "address", c.net.RemoteAddr().String(), "error", err)
		}
	}
}

// detect returns the form of the first message without consuming it. The first four bytes are the length of a frame, the
// version of a strict message (negative), or the length of the method's name. A message follows the length of a frame.
func (c *conn) detect() (form, error) {
	_ = c.net.SetReadDeadline(time.Now().Add(stallTimeout))
	defer func() { _ = c.net.SetReadDeadline(time.Time{}) }()
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
	in := &source{c.reader, maxMessage}
	if how.framed {
		var head [4]byte
		if _, err := io.ReadFull(c.reader, head[:]); err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[:])
		if length == 0 || length > maxMessage {
			return fmt.Errorf("%w: frame of %d bytes, expected at most %d", errStrange, length, maxMessage)
		}
		in.left = int(length)
	}
	ctx, cancel := context.WithTimeout(c.s.lasts, callTimeout)
	defer cancel()
	out := thrift.NewTMemoryBufferLen(replySize)
	if how.framed {
		_, _ = out.Write(make([]byte, 4)) // placeholder for the length
	}
	call := call{s: c.s, in: protocol(in, how), out: protocol(out, how), hear: c.hear}
	err := call.serve(ctx)
	if err == nil && how.framed {
		err = in.skip()
	}
	if err != nil {
		return err
	}
	reply := out.Bytes()
	if how.framed {
		binary.BigEndian.PutUint32(reply, uint32(len(reply)-4)) //nolint:gosec // a reply is short
	}
	_, err = c.net.Write(reply)
	return err
}

// hear keeps the place of a connection that speaks the protocol.
func (c *conn) hear() {
	if c.place != nil {
		c.place.Serve(0, c)
	}
}

// protocol reads and writes the messages of a form.
func protocol(t thrift.TTransport, how form) thrift.TProtocol {
	strict := how.strict
	return thrift.NewTBinaryProtocolConf(t, &thrift.TConfiguration{
		MaxMessageSize: maxMessage, MaxFrameSize: maxMessage, TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict,
	})
}

// anonymous returns the context of a call with its principal.
func (s *Server) anonymous(ctx context.Context) (context.Context, error) {
	if s.cfg.Anonymous == nil {
		return ctx, nil
	}
	p, err := s.cfg.Anonymous(ctx)
	if err != nil {
		return ctx, err
	}
	return trust.WithPrincipal(ctx, p), nil
}
