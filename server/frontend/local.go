package frontend

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// jsonFactor is the memory of an answer as JSON, as a multiple of the size of its message.
const jsonFactor = 2

// local lets the HTTP port of a process call the services of the same process. A call is a function call that passes the
// interceptors of the gRPC server. Its context holds the caller and the caller's address, and has no gRPC peer. The metrics count
// the call as an HTTP request, not as a gRPC call.
type local struct {
	server  *Server
	methods map[string]localMethod // keyed by full method
}

type localMethod struct {
	service any
	unary   grpc.MethodDesc
	stream  grpc.StreamDesc // a stream from the server; zero for a unary method
}

// fromHTTP reports whether a call came through local.
func fromHTTP(ctx context.Context) bool {
	_, network := peer.FromContext(ctx)
	return !network
}

// RegisterService implements grpc.ServiceRegistrar. It also registers the service with the gRPC server.
func (l *local) RegisterService(desc *grpc.ServiceDesc, service any) {
	l.server.grpc.RegisterService(desc, service)
	for _, m := range desc.Methods {
		l.methods["/"+desc.ServiceName+"/"+m.MethodName] = localMethod{service: service, unary: m}
	}
	for _, m := range desc.Streams {
		if !m.ClientStreams {
			l.methods["/"+desc.ServiceName+"/"+m.StreamName] = localMethod{service: service, stream: m}
		}
	}
}

// Invoke implements grpc.ClientConnInterface.
func (l *local) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	m, ok := l.methods[method]
	if !ok || m.unary.Handler == nil {
		return unknownMethod(method)
	}
	resp, err := m.unary.Handler(m.service, withoutHeaders(ctx), func(req any) error { return fill(req, args) }, l.server.unary)
	if err != nil {
		return err
	}
	return fill(reply, resp)
}

// NewStream implements grpc.ClientConnInterface. No stream of the API is available over HTTP.
func (*local) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, unknownMethod(method)
}

// WatchOverview calls the method of that name. It passes each overview to send, until ctx ends or send returns an error.
func (l *local) WatchOverview(ctx context.Context, send func(*snowraftv1.Overview) error) error {
	m, ok := l.methods[snowraftv1.ViewService_WatchOverview_FullMethodName]
	if !ok {
		return unknownMethod(snowraftv1.ViewService_WatchOverview_FullMethodName)
	}
	info := &grpc.StreamServerInfo{FullMethod: snowraftv1.ViewService_WatchOverview_FullMethodName, IsServerStream: true}
	return l.server.stream(m.service, overviewStream{ctx: withoutHeaders(ctx), send: send}, info, m.stream.Handler)
}

// overviewStream is the stream of a local WatchOverview.
type overviewStream struct {
	grpc.ServerStream // nil: there are no headers

	ctx  context.Context
	send func(*snowraftv1.Overview) error
}

// Context implements grpc.ServerStream.
func (s overviewStream) Context() context.Context { return s.ctx }

// RecvMsg receives the request, which is empty.
func (s overviewStream) RecvMsg(any) error { return s.ctx.Err() }

// SendMsg implements grpc.ServerStream. Caller and service share no memory, as over a network.
func (s overviewStream) SendMsg(answer any) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.send(proto.CloneOf(answer.(*snowraftv1.WatchOverviewResponse).GetOverview()))
}

func unknownMethod(method string) error {
	return rpc.NewError(rpc.MethodNotAllowed, fmt.Sprintf("%s cannot be called over HTTP", method))
}

// withoutHeaders removes the metadata that the HTTP gateway adds for a network, which the call would carry on to the leader.
func withoutHeaders(ctx context.Context) context.Context {
	return metadata.NewOutgoingContext(ctx, nil)
}

// fill copies a message into an empty one of the same type. Caller and service share no memory, as over a network.
func fill(to, from any) error {
	dst, ok := to.(proto.Message)
	src, same := from.(proto.Message)
	if !ok || !same || dst.ProtoReflect().Descriptor() != src.ProtoReflect().Descriptor() {
		return rpc.NewError(rpc.Internal, fmt.Sprintf("an answer %T for %T", from, to))
	}
	proto.Merge(dst, src)
	return nil
}

var (
	_ grpc.ClientConnInterface = (*local)(nil)
	_ grpc.ServiceRegistrar    = (*local)(nil)
)
