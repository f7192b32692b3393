package frontend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/trust"
)

const mib = 1 << 20

// Calls without a message, watches and streams hold a bounded part of the memory, by the share of their callers: a token, or all
// strangers. Others still get theirs, and what ended holds nothing.
func TestCallsHoldABoundedShare(t *testing.T) {
	t.Parallel()
	tokens := oneSecret{secret: trust.NewTokenSecret()}
	const limit = 64 * mib // shares of 8 MiB
	with := func(ctx context.Context, id uint64) context.Context {
		if id == 0 {
			return ctx
		}
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tokens.text(id))
	}
	for name, flood := range map[string]struct {
		token uint64
		begin func(ctx context.Context, t *testing.T, conn *grpc.ClientConn)
	}{
		"silent calls of strangers": {0, func(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
			silently(ctx, t, conn, snowraftv1.IdService_GenerateIds_FullMethodName)
		}},
		"silent calls of a token": {17, func(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
			silently(ctx, t, conn, snowraftv1.IdService_GenerateIds_FullMethodName)
		}},
		"silent streams of a token": {17, func(ctx context.Context, t *testing.T, conn *grpc.ClientConn) {
			silently(ctx, t, conn, snowraftv1.IdService_StreamIds_FullMethodName)
		}},
		"watches of strangers": {0, func(ctx context.Context, _ *testing.T, conn *grpc.ClientConn) { _ = watch(ctx, conn) }},
		"watches of a token":   {17, func(ctx context.Context, _ *testing.T, conn *grpc.ClientConn) { _ = watch(ctx, conn) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				budget, connect := serveEcho(t, &Auth{Tokens: trust.NewAuthorizer(tokens)}, limit)
				status := func(conn *grpc.ClientConn, id uint64) error {
					_, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(with(t.Context(), id), &snowraftv1.GetStatusRequest{})
					return err
				}
				honest := connect()
				if err := status(honest, 18); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(with(t.Context(), flood.token))
				defer stop()
				var all []*grpc.ClientConn
				most := int64(0)
				for range 8 {
					conn := connect()
					all = append(all, conn)
					if flood.token != 0 {
						_ = status(conn, flood.token)
					}
				}
				for _, conn := range all {
					for range maxConcurrentStreams / 100 {
						for range 50 {
							flood.begin(ctx, t, conn)
						}
						synctest.Wait()
						most = max(most, budget.Held()) // an eviction may follow
					}
				}
				bound := int64(limit/8*5/4 + mib)
				if flood.token != 0 {
					bound *= 2 // clients of closed connections connect again, and are strangers
				}
				if most < limit/8*9/10 || most > bound {
					t.Errorf("the calls held up to %d MiB, want %d to %d", most/mib, limit/8/mib, bound/mib)
				}
				if err := status(honest, 18); err != nil {
					t.Errorf("another token's connection: %v", err)
				}
				if err := status(connect(), 19); err != nil {
					t.Errorf("a new connection with another token: %v", err)
				}
				stop()
				for _, conn := range all {
					_ = conn.Close()
				}
				synctest.Wait()
				if held := budget.Held(); held > 3*(conn.Price+16<<10) {
					t.Errorf("%d bytes are held after the calls ended", held)
				}
			})
		})
	}
}

// A caller that begins many calls at once loses none of them.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]*Auth{"secured": secret(), "open": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				budget, connect := serveEcho(t, auth, 256*mib)
				conn := connect()
				client := snowraftv1.NewClusterServiceClient(conn)
				var wg sync.WaitGroup
				for range maxConcurrentStreams {
					wg.Go(func() {
						if _, err := client.GetStatus(withGood(t.Context()), &snowraftv1.GetStatusRequest{}); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				_ = conn.Close()
				synctest.Wait()
				if held := budget.Held(); held != 0 {
					t.Errorf("%d bytes are held after all calls", held)
				}
			})
		})
	}
}

// Answers hold memory until the client takes them, also the small ones of strangers, who may request the health.
func TestUnsentAnswersAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		budget, _ := serveEchoOn(t, secret(), 256*mib, pipes)
		client, err := pipes.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, client) }()
		// The client grants no window, so that no answer can be sent.
		if _, err := io.WriteString(client, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		framer := http2.NewFramer(client, nil)
		var headers bytes.Buffer
		fields := hpack.NewEncoder(&headers)
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "m1"},
			{Name: ":path", Value: grpc_health_v1.Health_Check_FullMethodName}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
		} {
			_ = fields.WriteField(field)
		}
		errs := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		const count = 500
		for i := range uint32(count) {
			fields := http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: headers.Bytes(), EndHeaders: true}
			errs = errors.Join(errs, framer.WriteHeaders(fields), framer.WriteData(2*i+1, true, make([]byte, 5)))
			synctest.Wait()
		}
		if errs != nil {
			t.Fatal(errs)
		}
		if held := budget.Held(); held < conn.Price+count*(conn.CallPrice+1<<10) {
			t.Errorf("%d unsent answers hold %d bytes", count, held)
		}
		_ = client.Close()
		synctest.Wait()
		if held := budget.Held(); held != 0 {
			t.Errorf("%d bytes are held after the connection", held)
		}
	})
}

// A connection counts as a stranger's after its caller's token is revoked, until a call has a valid token.
func TestConnectionOfRevokedTokenIsAStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := revocable{oneSecret{secret: trust.NewTokenSecret()}, new(atomic.Bool)}
		budget, connect := serveEcho(t, &Auth{Tokens: trust.NewAuthorizer(table)}, 256*mib)
		client := connect()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+table.text(17))
		for _, revoked := range []bool{false, true, false} {
			table.revoked.Store(revoked)
			_, err := snowraftv1.NewClusterServiceClient(client).GetStatus(ctx, &snowraftv1.GetStatusRequest{})
			if (err != nil) != revoked {
				t.Fatal(err)
			}
			synctest.Wait()
			before := budget.Held()
			calls, stop := context.WithCancel(ctx)
			for range 32 {
				silently(calls, t, client, snowraftv1.IdService_GenerateIds_FullMethodName)
			}
			synctest.Wait()
			each := (budget.Held() - before) / 32
			if strange := each < conn.AwaitedPrice; strange != revoked {
				t.Errorf("token revoked: %v: a silent call holds %d bytes", revoked, each)
			}
			stop()
			synctest.Wait()
		}
	})
}

// A client can watch the process and each service of the API on one connection.
func TestWatchOfEveryService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, connect := serveEcho(t, secret(), 256*mib)
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
	})
}

// A request for a large answer takes its memory before it runs.
func TestLargeAnswersAreReserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"}), Logger: slog.New(slog.DiscardHandler)})
		g := s.newGRPC()
		defer g.Stop()
		c, ctx := accepted(t, slots.NewBudget(1, 1, 8*mib, conn.Price), nil)
		call := func(req *snowraftv1.GenerateIdsRequest) (ran bool, err error) {
			info := &grpc.UnaryServerInfo{FullMethod: snowraftv1.IdService_GenerateIds_FullMethodName}
			answer, err := s.unary(c.BeginCall(ctx, 0), req, info, func(context.Context, any) (any, error) {
				ran = true
				return &snowraftv1.GenerateIdsResponse{}, nil
			})
			if err == nil {
				answer.(*counted).drop()
			}
			return ran, err
		}
		large, small := &snowraftv1.GenerateIdsRequest{Count: limits.Packed, Packed: new(true)}, &snowraftv1.GenerateIdsRequest{Count: 1}
		if ran, err := call(large); !ran || err != nil {
			t.Errorf("with memory: %v, %v", ran, err)
		}
		c.Charge(8 * mib)
		if ran, err := call(large); ran || rpc.FromError(err).Reason != rpc.Overloaded {
			t.Errorf("without memory: %v, %v", ran, err)
		}
		if ran, err := call(small); !ran || err != nil {
			t.Errorf("a small answer: %v, %v", ran, err)
		}
	})
}
