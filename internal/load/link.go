package load

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// link is a client's own TCP connection, made when it is first needed and again
// after it broke.
type link struct {
	address string
	timeout time.Duration
	access  Access
	greet   func(net.Conn, *bufio.Reader) error // begins a connection; may be nil
	conn    net.Conn
	in      *bufio.Reader
}

// exchange sends a request and has read take the answer. An error of read that is
// no *Refusal breaks the connection: what comes next on it is unknown.
func (l *link) exchange(ctx context.Context, request []byte, read func(*bufio.Reader) error) error {
	err := l.send(ctx, request, read)
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*Refusal](err); refused {
		return err
	}
	l.Close()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Refusal{Reason: reasonTimeout, Text: "no answer in time"}
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Refusal{Reason: reasonBroken, Text: err.Error()}
	}
	return &Refusal{Reason: reasonGarbled, Text: err.Error()}
}

func (l *link) send(ctx context.Context, request []byte, read func(*bufio.Reader) error) error {
	fresh := false
	if l.conn == nil {
		dialer := net.Dialer{Timeout: l.timeout}
		conn, err := dialer.DialContext(ctx, "tcp", l.address)
		if err != nil {
			return err
		}
		l.conn, fresh = conn, true
	}
	conn := l.conn
	if err := conn.SetDeadline(now().Add(l.timeout)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // wakes it up
	defer stop()
	if fresh {
		if err := l.begin(ctx); err != nil {
			l.Close()
			return err
		}
	}
	if _, err := l.conn.Write(request); err != nil {
		return err
	}
	return read(l.in)
}

// begin makes a new connection ready for requests.
func (l *link) begin(ctx context.Context) (err error) {
	if l.conn, err = l.access.secure(ctx, l.conn, l.address); err != nil {
		return err
	}
	l.in = bufio.NewReader(l.conn)
	if l.greet == nil {
		return nil
	}
	return l.greet(l.conn, l.in)
}

// Close closes the connection, if there is one.
func (l *link) Close() {
	if l.conn != nil {
		_ = l.conn.Close() // there is nothing left to be lost
		l.conn = nil
	}
}
