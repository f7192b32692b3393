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

// link is the TCP connection of one client. It connects at the first use, and again
// after the connection broke.
type link struct {
	address string
	timeout time.Duration
	access  Access
	greet   func(net.Conn, *bufio.Reader) error // runs on a new connection; may be nil
	conn    net.Conn
	in      *bufio.Reader
}

// exchange sends a request and calls read for the answer. If read returns an error other than a
// *Refusal, exchange closes the connection, because the next bytes on it are unknown.
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
		return &Refusal{Reason: reasonBroken, Text: cause(err)}
	}
	return &Refusal{Reason: reasonGarbled, Text: err.Error()}
}

// cause returns the text of a network error without the operation and the addresses, because callers print the address.
func cause(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed before the answer was complete"
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		err = failed.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err.Error()
}

func (l *link) send(ctx context.Context, request []byte, read func(*bufio.Reader) error) error {
	fresh := false
	if l.conn == nil {
		dialer := net.Dialer{Timeout: l.timeout}
		conn, err := dialer.DialContext(ctx, "tcp", l.address)
		if _, ok := errors.AsType[*net.OpError](err); ok {
			return &Refusal{Reason: reasonBroken, Text: cause(err)}
		}
		if err != nil {
			return err
		}
		l.conn, fresh = conn, true
	}
	conn := l.conn
	if err := conn.SetDeadline(now().Add(l.timeout)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // interrupts reads and writes
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

// begin prepares a new connection for requests.
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
		_ = l.conn.Close() // no data is pending
		l.conn = nil
	}
}
