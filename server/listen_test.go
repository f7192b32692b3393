package server_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server"
)

// A gossip host that does not resolve must not become all interfaces.
func TestUnresolvableGossipHostIsRefused(t *testing.T) {
	t.Parallel()
	host := strings.Repeat("a", 300) // too long for a name, so that it is never requested
	s, err := server.Open(t.Context(), server.Config{
		Name: "m1", DataDir: t.TempDir(),
		APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: host + ":0",
	})
	if err == nil {
		_ = s.Close(t.Context())
		t.Fatal("Open() succeeded, want an error")
	}
	if !strings.Contains(err.Error(), "--gossip-addr "+host) {
		t.Errorf("%v does not name the setting", err)
	}
}

// The Redis port is bound when there is an address for it, and free again afterwards.
func TestRedisAddress(t *testing.T) {
	t.Parallel()
	if off := newNode(t, "off").start(); off.server.RedisAddr() != "" {
		t.Errorf("Redis address = %s, want no listener", off.server.RedisAddr())
	}
	n := newNode(t, "on", func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" }).start()
	address := n.server.RedisAddr()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	other := newNode(t, "other", func(c *server.Config) { c.RedisAddr = address })
	if _, err := server.Open(t.Context(), other.cfg); err == nil || !strings.Contains(err.Error(), "--redis-addr "+address) {
		t.Errorf("%v does not name the setting whose port is taken", err)
	}
	n.stop()
	if conn, err := dialer.DialContext(t.Context(), "tcp", address); err == nil {
		_ = conn.Close()
		t.Error("the server listens after Close()")
	}
}

func TestInitialRedisCreateIsChecked(t *testing.T) {
	t.Parallel()
	n := newNode(t, "m1", func(c *server.Config) { c.RedisCreate = "maybe" })
	if _, err := server.Open(t.Context(), n.cfg); err == nil || !strings.Contains(err.Error(), "redis-create") {
		t.Errorf("%v does not name the setting", err)
	}
}

// The error of a Redis client names the action once, and is counted.
func TestRedisRefusals(t *testing.T) {
	t.Parallel()
	n := newNode(t, "m1", func(c *server.Config) { c.RedisAddr, c.BootstrapExpect = "127.0.0.1:0", 1 }).start()
	leader(t, []*node{n})
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", n.server.RedisAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "INCR orders\r\nINCR\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, want := range []string{
		"-ERR sequence \"orders\" does not exist; create it with \"snowraft seq create orders\"\r\n", "-ERR wrong number of arguments for 'incr' command\r\n",
	} {
		if got, err := answers.ReadString('\n'); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	_, body := n.ask("GET", "/metrics", "")
	for _, line := range []string{
		`snowraft_requests_total{code="NOT_FOUND",method="incr",protocol="redis",reason="UNKNOWN_SEQUENCE"} 1`,
		`snowraft_requests_total{code="INVALID_ARGUMENT",method="incr",protocol="redis",reason="INVALID_ARGUMENT"} 1`,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}
