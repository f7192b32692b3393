package thrift_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/thrift"
)

// wire is a connection that has received some bytes and receives no more.
type wire struct {
	io.Reader
	written int
	closed  chan struct{}
	once    sync.Once
}

func (w *wire) Write(p []byte) (int, error) { w.written += len(p); return len(p), nil }

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (*wire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*wire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*wire) SetDeadline(time.Time) error      { return nil }
func (*wire) SetReadDeadline(time.Time) error  { return nil }
func (*wire) SetWriteDeadline(time.Time) error { return nil }

// once is a listener that accepts one connection.
type once struct {
	conn chan net.Conn
	end  chan struct{}
}

func (o *once) Accept() (net.Conn, error) {
	select {
	case c := <-o.conn:
		return c, nil
	case <-o.end:
		return nil, net.ErrClosed
	}
}

func (o *once) Close() error {
	select {
	case <-o.end:
	default:
		close(o.end)
	}
	return nil
}

func (*once) Addr() net.Addr { return &net.TCPAddr{} }

// FuzzConnection sends any bytes on a connection. The connection must end, issue at most one ID per request, and answer in
// proportion to its input.
func FuzzConnection(f *testing.F) {
	for _, framed := range []bool{true, false} {
		f.Add(request(framed, "get_id", "agent"))
		f.Add(request(framed, "get_timestamp", ""))
		f.Add(append(request(framed, "get_id", "agent"), request(framed, "nothing", "")...))
	}
	f.Add([]byte("\x00\x00\x00\x06get_id\x01\x00\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		backend := &fake{}
		s := thrift.New(backend, slog.New(slog.DiscardHandler))
		w := &wire{Reader: bytes.NewReader(sent), closed: make(chan struct{})}
		l := &once{conn: make(chan net.Conn, 1), end: make(chan struct{})}
		l.conn <- w
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Serve(l)
		}()
		<-w.closed
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-done
		const shortest = 17 // bytes of the shortest request
		if most := len(sent)/shortest + 1; int(backend.last) > most {
			t.Errorf("%d IDs for %d bytes", backend.last, len(sent))
		}
		if most := 64 * (len(sent) + 64); w.written > most {
			t.Errorf("answered %d bytes to %d", w.written, len(sent))
		}
	})
}
