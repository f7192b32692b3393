package frontend

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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

// serveEcho returns a server and a function that connects to it.
func serveEcho(t *testing.T, auth *Auth) (s *Server, connect func() *grpc.ClientConn) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveEchoOn(t, auth, l)
}

func serveEchoOn(t *testing.T, auth *Auth, l net.Listener, options ...grpc.DialOption) (s *Server, connect func() *grpc.ClientConn) {
	t.Helper()
	s = New(Config{What: "member", State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Auth: auth, Logger: slog.New(slog.DiscardHandler), Ready: func() error { return nil }})
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	g := s.newGRPC(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return handler(ctx, req)
	})
	grpc_health_v1.RegisterHealthServer(g, newHealthService(s))
	snowraftv1.RegisterIdServiceServer(g, echo{})
	snowraftv1.RegisterClusterServiceServer(g, echo{})
	go func() { _ = g.Serve(s.atAPI(l)) }()
	t.Cleanup(g.Stop)
	return s, func() *grpc.ClientConn {
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

// converse returns nil once a stream of a caller has an answer.
func converse(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := snowraftv1.NewIdServiceClient(conn).StreamIds(ctx)
	if err == nil {
		err = stream.Send(&snowraftv1.StreamIdsRequest{Id: 1})
	}
	if err == nil {
		_, err = stream.Recv()
	}
	return err
}

// Strangers' watches have few places, apart from the places of callers.
func TestStrangersWatchesTakeNoPlaceOfCallers(t *testing.T) {
	t.Parallel()
	s, connect := serveEcho(t, secret())
	flood, stop := context.WithCancel(t.Context())
	defer stop()
	open := 0
	for range maxStrangeWatches/maxWatchesOf + 2 {
		conn := connect()
		for range maxWatchesOf + 1 {
			if err := watch(flood, conn); err == nil {
				open++
			} else if rpc.FromError(err).Reason != rpc.Overloaded {
				t.Fatal(err)
			}
		}
	}
	if open != maxStrangeWatches {
		t.Errorf("strangers have %d watches open", open)
	}
	if n := s.streams.all; n != 0 {
		t.Errorf("watches count as %d streams of callers", n)
	}
	caller := connect()
	if err := watch(withGood(flood), caller); err != nil {
		t.Errorf("a watch with a token: %v", err)
	}
	if err := converse(withGood(flood), caller); err != nil {
		t.Errorf("a stream with a token: %v", err)
	}
	stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for range 1000 {
		if watch(t.Context(), connect()) == nil {
			return
		}
		<-again.C
	}
	t.Error("the places of watches that ended are not free")
}

// Watches that began before the first call count as the caller's after the call.
func TestWatchesBecomeCallers(t *testing.T) {
	t.Parallel()
	s, connect := serveEcho(t, secret())
	conn := connect()
	strange := func() int {
		s.watches.mu.Lock()
		defer s.watches.mu.Unlock()
		return s.watches.strange
	}
	for range 3 {
		if err := watch(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	if n := strange(); n != 3 {
		t.Errorf("%d strangers' watches, want 3", n)
	}
	if _, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := strange(); n != 0 {
		t.Errorf("%d strangers' watches after a call with a token", n)
	}
}

// In an open cluster, no caller is a stranger. The bound for each connection still applies.
func TestWatchesOfOpenProcess(t *testing.T) {
	t.Parallel()
	s, connect := serveEcho(t, nil)
	conn := connect()
	for range maxWatchesOf {
		if err := watch(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	if err := watch(t.Context(), conn); rpc.FromError(err).Reason != rpc.Overloaded {
		t.Errorf("one watch more: %v", err)
	}
	if s.watches.all != maxWatchesOf || s.watches.strange != 0 {
		t.Errorf("%d watches, %d of strangers", s.watches.all, s.watches.strange)
	}
}

// A client can watch the process and each service of the API on one connection.
func TestWatchOfEveryService(t *testing.T) {
	t.Parallel()
	_, connect := serveEcho(t, secret())
	conn := connect()
	services := []string{""}
	protoregistry.GlobalFiles.RangeFilesByPackage("snowraft.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			services = append(services, string(file.Services().Get(i).FullName()))
		}
		return true
	})
	if len(services) < 9 {
		t.Fatalf("services %q", services)
	}
	for _, service := range services {
		stream, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := stream.Recv(); err != nil || resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN {
			t.Errorf("Watch(%q) = %v, %v", service, resp, err)
		}
	}
}

// A token has a quarter of the port's connections. These have at most a quarter of all watches.
func TestWatchesOfOneToken(t *testing.T) {
	t.Parallel()
	if n := maxConns / 4 * maxWatchesOf; n > maxWatches/4 {
		t.Errorf("a token may have %d of %d watches", n, maxWatches)
	}
}
