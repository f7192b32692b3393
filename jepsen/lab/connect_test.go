//go:build linux

package lab

import (
	"net"
	"testing"

	"github.com/snowraft/snowraft/jepsen/network"
)

// A process can accept connections before its start is recorded. Operations over such a connection would have no start.
func TestDialRefusesAnUnrecordedStart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	m := &Member{machine: machine{Name: "n1", Host: &network.Host{Name: "n1", IP: "127.0.0.1"}}}
	l := &Lab{Members: []*Member{m}}
	if conn, err := l.Dial(t.Context(), listener.Addr().String()); err == nil {
		t.Fatalf("the connection leads to start %d, want an error", l.StartOf(conn.LocalAddr(), conn.RemoteAddr()))
	}
	m.proc = &process{start: 7}
	conn, err := l.Dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if start := l.StartOf(conn.LocalAddr(), conn.RemoteAddr()); start != 7 {
		t.Errorf("the connection leads to start %d, want 7", start)
	}
}
