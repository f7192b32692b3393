package conn_test

import (
	"net"
	"testing"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

// Silent connections do not exclude other connections, and another connection does not evict those that spoke.
func TestListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan net.Addr, 1)
	l := conn.Listen(inner, slots.New(2, 2), func(nc net.Conn) { refused <- nc.RemoteAddr() })
	defer l.Close()
	accepted := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	speak := func() (client, server net.Conn) {
		t.Helper()
		client = dial()
		server = <-accepted
		if err := server.(*conn.Conn).Keep(trust.Open()); err != nil {
			t.Error(err)
		}
		return client, server
	}
	silent := dial()
	<-accepted
	speak()
	_, server := speak() // replaces the silent connection
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("the silent connection is open")
	}
	one := dial()
	if addr := <-refused; addr.String() != one.LocalAddr().String() {
		t.Errorf("%v was refused, want %v", addr, one.LocalAddr())
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	speak() // takes the place of the closed connection
}
