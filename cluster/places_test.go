package cluster

import (
	"net"
	"testing"
	"time"
)

func TestPlacesOfOneAddress(t *testing.T) {
	t.Parallel()
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	p := newPlaces(4, 2)
	take := func(addr net.Addr) func() {
		t.Helper()
		release, ok := p.take(addr)
		if !ok {
			t.Fatalf("no place for %v", addr)
		}
		return release
	}
	none := func(addr net.Addr) {
		t.Helper()
		if _, ok := p.take(addr); ok {
			t.Fatalf("a place for %v", addr)
		}
	}
	release := take(at("192.0.2.1"))
	take(at("::ffff:192.0.2.1"))
	none(at("192.0.2.1"))
	take(at("2001:db8::1"))
	take(at("2001:db8::2:0:0:1"))
	none(at("192.0.2.2")) // all four are taken
	release()
	none(at("2001:db8::3")) // of the network that has two
	take(at("192.0.2.2"))
}

func TestPlacesInsideProcess(t *testing.T) {
	t.Parallel()
	p := newPlaces(2, 1)
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for range 2 {
		if _, ok := p.take(a.RemoteAddr()); !ok {
			t.Error("no place for a pipe")
		}
	}
	if _, ok := p.take(b.RemoteAddr()); ok {
		t.Error("a third place of two")
	}
}

func TestHandshakeSilentConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	s := agreeable(t)
	for range 2 * maxHandshakes {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.DialContext(t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		t.Skip(err) // no such address on this system
	}
	defer conn.Close()
	if err := greet(conn, hello{From: someMeta(), To: s.self().ID}, time.Second); err != nil {
		t.Errorf("no handshake with another address: %v", err)
	}
}
