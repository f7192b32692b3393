package server

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	maxConcurrentStreams = 1000
	// workersPerProcessor is how many goroutines for each processor take calls again and again.
	// A new one for each call would spend a tenth of the call's time on growing its stack. Long
	// streams occupy one each, and gRPC has no way to keep them off: where many clients watch
	// the health, calls get goroutines of their own and cost that tenth. With many more
	// workers, each would be cold when its turn comes, which costs more.
	workersPerProcessor = 16
)

// newGRPC returns a server without services, whose unary calls handle serves, inside of what
// all calls have.
func (s *front) newGRPC(handle grpc.UnaryServerInterceptor) *grpc.Server {
	s.handle = handle
	return grpc.NewServer(
		grpc.MaxRecvMsgSize(limits.RequestBytes),
		grpc.MaxConcurrentStreams(maxConcurrentStreams),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(workersPerProcessor*uint32(runtime.GOMAXPROCS(0))), //nolint:gosec // processors are few
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
}

func (s *Server) newGRPC() *grpc.Server {
	g := s.front.newGRPC(s.serve)
	snowraftv1.RegisterIdServiceServer(g, &idService{s: s})
	snowraftv1.RegisterLayoutServiceServer(g, &layoutService{s: s})
	snowraftv1.RegisterWorkerServiceServer(g, &workerService{s: s})
	snowraftv1.RegisterClusterServiceServer(g, &clusterService{s: s})
	snowraftv1.RegisterSequenceServiceServer(g, &sequenceService{s: s})
	grpc_health_v1.RegisterHealthServer(g, newHealthService(s.front))
	reflection.Register(g)
	return g
}

// unary is the interceptor of all calls: a deadline, the error table, metrics.
func (s *front) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	began := time.Now()
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(info.FullMethod, r)
		}
		s.metrics.served(info.FullMethod, err, time.Since(began))
	}()
	if _, ok := ctx.Deadline(); !ok {
		p := newPatience(ctx, began)
		defer p.end()
		ctx = p
	}
	resp, err = s.handle(ctx, req, info, handler)
	return resp, toStatus(err)
}

// serve serves a call at the member, or brings it to the leader.
func (s *Server) serve(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	if rpc.RuleOf(info.FullMethod).AtLeader() {
		return s.forward(ctx, req, info.FullMethod, handler)
	}
	return handler(ctx, req)
}

func (s *front) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(info.FullMethod, r)
		}
	}()
	return toStatus(handler(srv, ss))
}

// panicked keeps one bad request from ending the member; the stack is for us.
func (s *front) panicked(method string, what any) error {
	s.logger.Error("a request made this member panic: please report it", "method", method, "panic", what, "stack", string(debug.Stack()))
	return &rpc.Error{Code: codes.Internal, Message: fmt.Sprintf("%s failed inside the %s; its log says more", method, s.what)}
}
