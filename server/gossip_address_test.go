package server

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// outward returns an address of this machine that other machines could reach; nil if there is none.
func outward(t *testing.T) net.IP {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}

func TestGossipAddressOfLoopbackName(t *testing.T) {
	t.Parallel()
	own := outward(t)
	if own == nil {
		own = net.IPv4(127, 0, 0, 1) // no better address
	}
	outside := "127.0.0.1" // without a route to other networks
	for _, address := range anywhere {
		if ip, err := sourceTo(t.Context(), address); err == nil && outside == "127.0.0.1" {
			outside = ip.String()
		}
	}
	other := net.JoinHostPort(own.String(), "7703")
	for _, c := range []struct {
		host, listens string
		join          []string
		want          string
	}{
		{"localhost", ":7703", []string{"127.0.0.1:7703", other}, own.String()},
		{"localhost", "0.0.0.0:7703", []string{other}, own.String()},
		{"localhost", ":7703", []string{"127.0.0.1:7703"}, "127.0.0.1"},
		{"localhost", ":7703", nil, outside},
		{"localhost", "127.0.0.1:7703", []string{other}, "127.0.0.1"},
		{"127.0.0.1", ":7703", []string{other}, "127.0.0.1"},
		{"192.0.2.1", ":7703", []string{other}, "192.0.2.1"},
	} {
		cfg := Config{GossipAddr: c.listens, Join: c.join, Logger: slog.New(slog.DiscardHandler)}
		ip, err := gossipIP(t.Context(), cfg, c.host)
		if err != nil || (ip.String() != c.want && !(ip.Equal(net.IPv6loopback) && c.want == "127.0.0.1")) {
			t.Errorf("gossipIP of %s, listening at %s, joining %v = %v, %v, want %s", c.host, c.listens, c.join, ip, err, c.want)
		}
	}
}

// A member whose name leads to itself only does not start with that address while it cannot find the way to another member.
func TestGossipAddressWithoutRoute(t *testing.T) {
	t.Parallel()
	cfg := Config{GossipAddr: ":7703", Join: []string{"localhost:7703", "127.0.0.1:none", "127.0.0.1:nothing"}, Logger: slog.New(slog.DiscardHandler)}
	if ip, err := gossipIP(t.Context(), cfg, "localhost"); err == nil || !strings.Contains(err.Error(), "set advertise-host to an address") || strings.Contains(err.Error(), "\n") {
		t.Errorf("gossipIP = %v, %v", ip, err)
	}
}

// The default settings listen on loopback. A member that joins other machines with them waits without an explanation.
func TestLoopbackAddressIsReported(t *testing.T) {
	t.Parallel()
	own := outward(t)
	for _, c := range []struct {
		join []string
		want bool
	}{
		{nil, false},
		{[]string{"127.0.0.1:7703", "localhost:7703"}, false},
		{[]string{"127.0.0.1:7703", net.JoinHostPort(own.String(), "7703")}, own != nil},
	} {
		var log bytes.Buffer
		warnOfLoopback(t.Context(), Config{Join: c.join, Logger: slog.New(slog.NewTextHandler(&log, nil))}, net.IPv4(127, 0, 0, 1))
		if got := strings.Contains(log.String(), "loopback address advertised to members on other machines; set advertise-host"); got != c.want {
			t.Errorf("joining %v logs %q, want a warning: %v", c.join, &log, c.want)
		}
	}
}
