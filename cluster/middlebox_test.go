package cluster

import (
	"io"
	"net"
	"sync"
	"testing"
)

// acceptor runs a listener that passes its connections to a function.
func acceptor(t *testing.T, handle func(*net.TCPConn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(conn.(*net.TCPConn))
		}
	}()
	return listener.Addr().String()
}

// middlebox forwards connections to an address. It can reset them, and refuse new ones.
type middlebox struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	conns    []*net.TCPConn
}

func newMiddlebox(t *testing.T, to string) *middlebox {
	t.Helper()
	box := &middlebox{address: "127.0.0.1:0", to: to}
	box.accept(t)
	t.Cleanup(func() {
		box.refuse()
		box.reset()
	})
	return box
}

// accept takes connections.
func (box *middlebox) accept(t *testing.T) {
	t.Helper()
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", box.address)
	if err != nil {
		t.Fatal(err)
	}
	box.listener, box.address = listener, listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			box.carry(conn.(*net.TCPConn))
		}
	}()
}

func (box *middlebox) carry(client *net.TCPConn) {
	server, err := net.Dial("tcp", box.to)
	if err != nil {
		_ = client.Close()
		return
	}
	box.mu.Lock()
	box.conns = append(box.conns, client, server.(*net.TCPConn))
	box.mu.Unlock()
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

// refuse makes the middlebox refuse new connections.
func (box *middlebox) refuse() {
	box.mu.Lock()
	defer box.mu.Unlock()
	if box.listener != nil {
		_ = box.listener.Close()
		box.listener = nil
	}
}

// reset resets all connections, on both sides.
func (box *middlebox) reset() {
	box.mu.Lock()
	defer box.mu.Unlock()
	for _, c := range box.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	box.conns = nil
}

func trioBehind(t *testing.T, front func(*testing.T, string) *middlebox, numbers ...int) []*host {
	t.Helper()
	first := startBehind(t, front, "a", 3, nil, numbers...)
	hosts := []*host{first}
	for _, name := range []string{"b", "c"} {
		hosts = append(hosts, startBehind(t, front, name, 3, []string{first.meta().Gossip}, numbers...))
	}
	together(t, hosts)
	return hosts
}
