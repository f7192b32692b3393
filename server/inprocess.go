package server

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// inProcess is a connection from the member's HTTP port to its own gRPC server,
// through memory. What comes over it is served as what comes over the network
// is: with its deadline, forwarded to the leader, counted, and refused by the
// same table.
type inProcess struct {
	listener *pipeListener
	conn     *grpc.ClientConn
}

func newInProcess() (*inProcess, error) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	conn, err := grpc.NewClient("passthrough:///in-process",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(l.dial))
	if err != nil {
		return nil, err
	}
	return &inProcess{l, conn}, nil
}

func (p *inProcess) close() {
	_ = p.conn.Close()
	_ = p.listener.Close()
}

// pipeListener is a net.Listener without a network.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "in-process" }
