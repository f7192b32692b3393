package frontend

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	maxConcurrentStreams = 1000
	// maxHeaderList is the largest size of a call's headers, in bytes.
	maxHeaderList = 16 << 10
	// workersPerProcessor is the number of goroutines per processor that serve calls repeatedly. A new goroutine for each
	// call would spend a tenth of the call's time on growing its stack. Each long-lived stream occupies a worker, and gRPC
	// has no way to prevent that. Where many clients watch the health, calls get new goroutines and cost that tenth. With
	// many more workers, each worker would be cold at its turn, which costs more.
	workersPerProcessor = 16
)

// newGRPC returns a server without services.
func (s *Server) newGRPC() *grpc.Server {
	return grpc.NewServer(
		grpc.Creds(&handshaker{auth: s.auth, tls: s.apiTLS(), plain: s.behind.Plain}),
		grpc.MaxRecvMsgSize(limits.RequestBytes),
		grpc.MaxConcurrentStreams(maxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderList),
		grpc.StaticStreamWindowSize(limits.RequestBytes),
		grpc.StaticConnWindowSize(conn.MaxReadAhead),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(workersPerProcessor*uint32(runtime.GOMAXPROCS(0))), //nolint:gosec // processors are few
		grpc.InTapHandle(s.tap()),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
}

// unary is the interceptor of all unary calls. It handles deadlines, rights, unknown fields, error mapping and metrics.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	began := time.Now()
	c := connOf(ctx)
	answer := &counted{conn: c, held: c.Arrived(ctx)}
	inner := fromHTTP(ctx)
	var span trace.Span
	if !inner {
		ctx, span = s.spanOf(ctx, info.FullMethod)
	}
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(info.FullMethod, r)
		}
		if err != nil {
			answer.drop()
		}
		if !inner { // otherwise it counts as an HTTP request
			s.kernel.Of(kernel.GRPC, info.FullMethod[1:]).Served(ctx, span, err, time.Since(began))
		}
	}()
	rule := rpc.RuleOf(info.FullMethod)
	if !kernel.Bounds(rule) {
		var cancel context.CancelFunc
		ctx, cancel = kernel.Bounded(ctx)
		defer cancel()
	}
	if ctx, err = s.admit(ctx, rule, info.FullMethod, req); err == nil {
		c.Begin()
		defer c.End()
		// A forwarding member also rejects unknown fields on which a change may depend: the next member may be older still.
		err = cmp.Or(rule.CheckKnown(req), rule.CheckSecrets(req))
	}
	if err == nil {
		err = s.answer(ctx, answer, rule, req, info, handler)
	}
	s.exchange(ctx, answer.answer, err)
	if c == nil {
		return answer.answer, wire.Status(err)
	}
	return answer, wire.Status(err)
}

// answer serves a call within the memory of its connection.
func (s *Server) answer(ctx context.Context, a *counted, rule *rpc.Rule, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (err error) {
	size := s.weight(req)
	if fromHTTP(ctx) {
		err = during(ctx, jsonFactor*size)
	} else {
		a.reserved, err = a.conn.Reserve(ctx, size)
		a.held += a.reserved
	}
	if err != nil {
		return err
	}
	if rule.Audited() {
		a.answer, err = s.kernel.Audit(ctx, rule, req, func(ctx context.Context) (any, error) { return s.serve(ctx, req, info, handler) })
	} else {
		a.answer, err = s.serve(ctx, req, info, handler)
	}
	if answer, ok := a.answer.(proto.Message); ok && err == nil && size == 0 && fromHTTP(ctx) {
		err = during(ctx, jsonFactor*int64(proto.Size(answer)))
	}
	if err != nil {
		a.answer = nil
	}
	return err
}

// serve passes a call to the process.
func (s *Server) serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.accept(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if s.behind.Serve == nil {
		return handler(ctx, req)
	}
	return s.behind.Serve(ctx, req, info, handler)
}

func (s *Server) accept(ctx context.Context, method string) error {
	if s.behind.Accept == nil {
		return nil
	}
	return s.behind.Accept(ctx, method)
}

// panicked returns an error for a panic, so that one bad request does not stop the member. The logged stack is for the
// developers.
func (s *Server) panicked(method string, what any) error {
	s.cfg.Logger.Error("request caused a panic; please report it", "method", method, "panic", what, "stack", string(debug.Stack()))
	return rpc.NewError(rpc.Internal, fmt.Sprintf("%s failed inside the %s; see its log", method, s.cfg.What))
}

// gRPC has buffers of a few sizes and clears a whole buffer for each message. Its default pool has no size between 32 KiB and
// 1 MiB. For the 80 kB of 10,000 packed IDs, gRPC would clear 1 MiB on both sides, which takes longer than all its other work
// for such an answer. The pool belongs to the process, not to a server; only the program imports package server.
func init() {
	const kib = 1 << 10
	experimental.SetDefaultBufferPool(mem.NewTieredBufferPool(
		256, 2*kib, 4*kib, 16*kib, 32*kib, 64*kib, 128*kib, 256*kib, 512*kib, 1024*kib))
}
