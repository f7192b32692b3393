package clusterkit

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/test/memnet"
)

// Middlebox forwards connections to an address. It can reset them, and refuse new ones.
type Middlebox struct {
	Address string // at which it listens
	network Streams
	to      string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// NewMiddlebox returns a Middlebox before an address of a network, which accepts connections until the test ends.
func NewMiddlebox(t *testing.T, network Streams, to string) *Middlebox {
	t.Helper()
	box := &Middlebox{Address: "127.0.0.1:0", network: network, to: to}
	box.Accept(t)
	t.Cleanup(func() {
		box.Refuse()
		box.Reset()
	})
	return box
}

// Accept takes connections.
func (box *Middlebox) Accept(t *testing.T) {
	t.Helper()
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		return
	}
	listener, err := box.network.Listen(t.Context(), "tcp", box.Address)
	if err != nil {
		t.Fatal(err)
	}
	box.listener, box.Address = listener, listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			box.carry(conn)
		}
	}()
}

func (box *Middlebox) carry(client net.Conn) {
	server, err := box.network.DialContext(context.Background(), "tcp", box.to)
	if err != nil {
		_ = client.Close()
		return
	}
	box.mu.Lock()
	box.conns = append(box.conns, client, server)
	box.mu.Unlock()
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

// Refuse makes the middlebox refuse new connections.
func (box *Middlebox) Refuse() {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		_ = box.listener.Close()
		box.listener = nil
	}
}

// Reset resets all connections, on both sides.
func (box *Middlebox) Reset() {
	box.mu.Lock()
	defer box.mu.Unlock()
	for _, c := range box.conns {
		reset(c)
	}
	box.conns = nil
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
		return
	}
	_ = c.(*memnet.Conn).Reset()
}
