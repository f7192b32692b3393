package frontend

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
)

// echo answers each message of StreamIds, and calls of GetStatus.
type echo struct {
	snowraftv1.UnimplementedIdServiceServer
	statusOnly
}

func (echo) StreamIds(stream grpc.BidiStreamingServer[snowraftv1.StreamIdsRequest, snowraftv1.StreamIdsResponse]) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if err := stream.Send(&snowraftv1.StreamIdsResponse{}); err != nil {
			return err
		}
	}
}

// serveEcho serves a process with a memory limit in a bubble. It returns what clients hold, and a function that connects.
func serveEcho(t *testing.T, auth *Auth, limit int64) (budget *slots.Budget, connect func() *grpc.ClientConn) {
	t.Helper()
	return serveEchoOn(t, auth, limit, &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})})
}

func serveEchoOn(t *testing.T, auth *Auth, limit int64, pipes *pipeListener) (budget *slots.Budget, connect func() *grpc.ClientConn) {
	t.Helper()
	l, options := remoteListener{pipes}, []grpc.DialOption{grpc.WithContextDialer(pipes.dial)}
	budget = conn.NewBudget(10_000, limit)
	s := New(Config{What: "member", State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: auth, Logger: slog.New(slog.DiscardHandler), Ready: func() error { return nil }})
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	g := s.newGRPC()
	grpc_health_v1.RegisterHealthServer(g, newHealthService(s))
	snowraftv1.RegisterIdServiceServer(g, echo{})
	snowraftv1.RegisterClusterServiceServer(g, echo{})
	go func() { _ = g.Serve(conn.Listen(l, budget, func(net.Conn) {})) }()
	t.Cleanup(g.Stop)
	return budget, func() *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
}

// watch returns nil once a watch has its first answer, or the error of its refusal.
func watch(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	return err
}

func withGood(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer good")
}

// silently begins calling and sends no message. The returned channel is closed when the server ends the call.
func silently(ctx context.Context, t *testing.T, conn *grpc.ClientConn, method string) <-chan struct{} {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	ended := make(chan struct{})
	if err != nil { // the server closed the connection
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		_ = stream.RecvMsg(&snowraftv1.GetStatusResponse{})
	}()
	return ended
}

// remote is a connection through memory with the address of a network connection.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// remoteListener accepts remote connections.
type remoteListener struct{ *pipeListener }

func (l remoteListener) Accept() (net.Conn, error) {
	c, err := l.pipeListener.Accept()
	if err != nil {
		return nil, err
	}
	return remote{c}, nil
}
