package frontend

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/wire"
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

// NewStream implements grpc.ClientConnInterface for streams from the server. The stream ends with ctx, so the caller must
// cancel ctx.
func (l *local) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m, ok := l.methods[method]
	if !ok || m.stream.Handler == nil {
		return nil, unknownMethod(method)
	}
	s := &localStream{ctx: withoutHeaders(ctx), requests: make(chan any, 1), answers: make(chan any), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = l.server.stream(m.service, localServing{s}, &grpc.StreamServerInfo{FullMethod: method, IsServerStream: true}, m.stream.Handler)
	}()
	return s, nil
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

// localStream is the caller's end of a stream from the server.
type localStream struct {
	ctx      context.Context
	requests chan any      // the only request
	answers  chan any      // each is a copy for the caller
	ended    chan struct{} // closed when the service has returned err
	err      error
}

// Context implements grpc.ClientStream, as do the other methods.
func (s *localStream) Context() context.Context { return s.ctx }

func (*localStream) Header() (metadata.MD, error) { return nil, nil }
func (*localStream) Trailer() metadata.MD         { return nil }
func (*localStream) CloseSend() error             { return nil }

// SendMsg is called once, with the request.
func (s *localStream) SendMsg(req any) error {
	s.requests <- req
	return nil
}

func (s *localStream) RecvMsg(answer any) error {
	select {
	case sent := <-s.answers:
		return fill(answer, sent)
	case <-s.ended:
		if s.err == nil {
			return io.EOF
		}
		return s.err
	case <-s.ctx.Done():
		return wire.Status(s.ctx.Err())
	}
}

// localServing is the service's end of a stream from the server.
type localServing struct{ *localStream }

// SetHeader implements grpc.ServerStream, as do the other methods.
func (localServing) SetHeader(metadata.MD) error  { return nil }
func (localServing) SendHeader(metadata.MD) error { return nil }
func (localServing) SetTrailer(metadata.MD)       {}

func (s localServing) RecvMsg(req any) error {
	select {
	case sent := <-s.requests:
		return fill(req, sent)
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s localServing) SendMsg(answer any) error {
	copied := proto.Clone(answer.(proto.Message))
	select {
	case s.answers <- copied:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

var (
	_ grpc.ClientConnInterface = (*local)(nil)
	_ grpc.ServiceRegistrar    = (*local)(nil)
)
