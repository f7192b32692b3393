package redis_test

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// secured returns the TLS configurations of a server and its client.
func secured(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	client, err = trust.ClientTLS{Keys: keys}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return trust.ServerTLS{Keys: keys, MemberID: "m1", Now: time.Now}.Config(), client
}

func startTLS(t testing.TB, cfg redis.Config, p *slots.Budget) (addr string, client *tls.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, client := secured(t)
	startOn(t, cfg, tls.NewListener(conn.Listen(l, p, func(net.Conn) {}), server))
	return l.Addr().String(), client
}

func dialTLS(t testing.TB, addr string, config *tls.Config) *client {
	t.Helper()
	c := dial(t, addr)
	c.Conn = tls.Client(c.Conn, config)
	return c
}

func TestTLS(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.add("a", 1, 1, -1, true)
	addr, config := startTLS(t, redis.Config{Backend: f}, slots.New(100, 100))
	c := dialTLS(t, addr, config)
	c.send("PING\r\nINCR a\r\nINCR a\r\nQUIT\r\n")
	if got, err := io.ReadAll(c); err != nil || string(got) != "+PONG\r\n:1\r\n:2\r\n+OK\r\n" {
		t.Errorf("got %q, %v", got, err)
	}
	c = dialTLS(t, addr, config)
	c.send("*1\r\nx")
	if got, err := io.ReadAll(c); err != nil || string(got) != "-ERR Protocol error: expected '$', got 'x'\r\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A client without TLS is advised to use TLS. A client with TLS gets an error on a port without TLS.
func TestWrongTLS(t *testing.T) {
	t.Parallel()
	addr, config := startTLS(t, redis.Config{Backend: &fake{}}, slots.New(100, 100))
	for _, sent := range []string{"PING\r\n", "*1\r\n$4\r\nPING\r\n"} {
		c := dial(t, addr)
		c.send(sent)
		if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), "-ERR this port speaks TLS only") {
			t.Errorf("%q got %q", sent, got)
		}
	}
	_, addr = start(t, redis.Config{Backend: &fake{}})
	err := dialTLS(t, addr, config).Conn.(*tls.Conn).HandshakeContext(t.Context())
	if record, ok := err.(tls.RecordHeaderError); !ok || string(record.RecordHeader[:]) != "-ERR " { //nolint:errorlint // not wrapped
		t.Errorf("got %v", err)
	}
}

// A handshake that never finishes does not keep its connection open.
func TestSilentHandshake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		server, _ := secured(t)
		startOn(t, redis.Config{Backend: &fake{}}, tls.NewListener(l, server))
		c := l.dial()
		defer c.Close()
		if took := ended(t, c); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("the connection was closed after %v", took)
		}
	})
}

// TLS connections beyond the limit do not delay other connections.
func TestMaxClientsOverTLS(t *testing.T) {
	t.Parallel()
	addr, config := startTLS(t, redis.Config{Backend: &fake{}}, slots.New(1, 1))
	c := dialTLS(t, addr, config)
	c.send("PING\r\n")
	if got := c.reader().line(); got != "+PONG" {
		t.Fatalf("got %q", got)
	}
	for range 2 {
		if got, _ := io.ReadAll(dial(t, addr)); len(got) > 0 {
			t.Errorf("got %q", got)
		}
	}
}
