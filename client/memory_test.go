package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/grpc/test/bufconn"
)

// memory is a network without sockets, so that whole clients and members run in the synthetic time of testing/synctest.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener // keyed by address
	ports     int
}

// local is a connection within this host.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// listen listens at an address. The port 0 stands for a free one.
func (n *memory) listen(addr string) (net.Listener, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if host, free := strings.CutSuffix(addr, ":0"); free {
		n.ports++
		addr = fmt.Sprintf("%s:%d", host, n.ports)
	}
	if n.listeners == nil {
		n.listeners = make(map[string]*bufconn.Listener)
	}
	n.listeners[addr] = bufconn.Listen(64 << 10)
	return n.listeners[addr], addr
}

// dial refuses connections to addresses without a listener.
func (n *memory) dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[strings.Replace(addr, "localhost:", "127.0.0.1:", 1)]
	n.mu.Unlock()
	if l != nil {
		if conn, err := l.DialContext(ctx); err == nil {
			return local{conn}, nil
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}
