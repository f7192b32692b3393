package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/snowraft/snowraft/internal/load"
)

// link is a connection of one client, which sends the same request each time. It does only the necessary work, so that a turn
// measures the server.
type link struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	read    func(in *bufio.Reader) error // reads one answer and checks that it has a number
}

// Call implements load.Caller.
func (l *link) Call(_ context.Context, got *load.Receipt) error {
	if _, err := l.conn.Write(l.request); err != nil {
		return err
	}
	got.Count(1)
	return l.read(l.in)
}

// openLink connects to an address. The connection is closed when ctx ends or started is closed.
func openLink(ctx context.Context, address string, config *tls.Config, started *closers) (*link, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if config != nil {
		conn = tls.Client(conn, config)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // interrupts a call
	started.add(func() error {
		if stop() {
			return conn.Close()
		}
		return nil
	})
	return &link{conn: conn, in: bufio.NewReader(conn)}, nil
}

// httpLinks returns clients that request a number as plain text.
func httpLinks(ctx context.Context, count int, method, address, path string, started *closers) ([]load.Caller, error) {
	request := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, address)
	if method == http.MethodPost {
		request = append(request, "Content-Length: 0\r\n"...)
	}
	request = append(request, "\r\n"...)
	all := make([]load.Caller, count)
	for i := range all {
		l, err := openLink(ctx, address, nil, started)
		if err != nil {
			return nil, err
		}
		l.request = request
		var body bytes.Buffer
		l.read = func(in *bufio.Reader) error { return readLine(in, &body) }
		all[i] = l
	}
	return all, nil
}

// readLine reads an answer over HTTP that has one line.
func readLine(in *bufio.Reader, body *bytes.Buffer) error {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	body.Reset()
	_, err = io.Copy(body, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || bytes.Count(body.Bytes(), []byte{'\n'}) != 1 {
		return fmt.Errorf("answer %d %q: expected a number", resp.StatusCode, body)
	}
	return nil
}

// redisLinks returns clients that send INCR of a key.
func redisLinks(ctx context.Context, count int, address, key string, access load.Access, started *closers) ([]load.Caller, error) {
	command := func(name, argument string) []byte {
		return fmt.Appendf(nil, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(name), name, len(argument), argument)
	}
	all := make([]load.Caller, count)
	for i := range all {
		l, err := openLink(ctx, address, access.TLS, started)
		if err != nil {
			return nil, err
		}
		if access.Token != "" {
			l.request, l.read = command("AUTH", access.Token), func(in *bufio.Reader) error { return readReply(in, '+') }
			if err := l.Call(ctx, &load.Receipt{}); err != nil {
				return nil, err
			}
		}
		l.request, l.read = command("INCR", key), func(in *bufio.Reader) error { return readReply(in, ':') }
		all[i] = l
	}
	return all, nil
}

// readReply reads an answer of the Redis protocol that begins with a byte.
func readReply(in *bufio.Reader, kind byte) error {
	line, err := in.ReadSlice('\n')
	if err == nil && line[0] != kind {
		err = fmt.Errorf("answer %q: expected one that begins with %c", line, kind)
	}
	return err
}
