package server

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (g *Gateway) newGRPC() (*grpc.Server, error) {
	s := g.front.newGRPC(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := g.admit(ctx, info.FullMethod); err != nil {
			return nil, err
		}
		return handler(ctx, req)
	})
	for _, service := range []struct {
		desc grpc.ServiceDesc
		impl any
		own  []string // methods that impl serves
	}{
		{snowraftv1.IdService_ServiceDesc, &gatewayIDs{g: g}, []string{"GenerateIds"}},
		{snowraftv1.SequenceService_ServiceDesc, &gatewayNumbers{g: g}, []string{"Next"}},
		{snowraftv1.LayoutService_ServiceDesc, nil, nil},
		{snowraftv1.WorkerService_ServiceDesc, nil, nil},
		{snowraftv1.ClusterService_ServiceDesc, nil, nil},
	} {
		desc := service.desc
		desc.Methods = slices.Clone(desc.Methods) // those of the package stay as they are
		for i, m := range desc.Methods {
			if slices.Contains(service.own, m.MethodName) {
				continue
			}
			var err error
			if desc.Methods[i].Handler, err = g.passOn(desc.ServiceName, m.MethodName); err != nil {
				return nil, err
			}
		}
		s.RegisterService(&desc, service.impl)
	}
	grpc_health_v1.RegisterHealthServer(s, newHealthService(g.front))
	reflection.Register(s)
	return s, nil
}

// passOn serves a method by asking a member the same.
func (g *Gateway) passOn(service, method string) (grpc.MethodHandler, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service).Append(protoreflect.Name(method)))
	if err != nil {
		return nil, err
	}
	desc, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s/%s is no method", service, method)
	}
	request, err := protoregistry.GlobalTypes.FindMessageByName(desc.Input().FullName())
	if err != nil {
		return nil, err
	}
	response, err := protoregistry.GlobalTypes.FindMessageByName(desc.Output().FullName())
	if err != nil {
		return nil, err
	}
	info := &grpc.UnaryServerInfo{Server: g, FullMethod: "/" + service + "/" + method}
	pass := func(ctx context.Context, req any) (any, error) {
		resp := response.New().Interface()
		if err := g.ask(ctx, info.FullMethod, req, resp); err != nil {
			return nil, err
		}
		return resp, nil
	}
	return func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		req := request.New().Interface()
		if err := decode(req); err != nil {
			return nil, err
		}
		return intercept(ctx, req, info, pass)
	}, nil
}

// gatewayIDs serves what buffers can.
type gatewayIDs struct {
	snowraftv1.UnimplementedIdServiceServer
	g *Gateway
}

// GenerateIds answers from the layout's buffer. What wants IDs after another gets them from a
// member: those that are buffered may be before it.
func (i *gatewayIDs) GenerateIds(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	count := max(req.GetCount(), 1)
	source := i.g.buffers.of(req.GetLayout())
	if source == nil || count > maxBuffered || req.GetAfter() != 0 {
		resp, err := i.g.askIDs(ctx, req)
		if err == nil {
			i.g.metrics.issued(count)
		}
		return resp, err
	}
	taken, err := fromSource(ctx, source, nil, count)
	if err != nil {
		return nil, err
	}
	i.g.metrics.issued(count)
	return idsResponse(taken, count, req.GetPacked()), nil
}

// StreamIds answers each request of a stream in turn.
func (i *gatewayIDs) StreamIds(stream snowraftv1.IdService_StreamIdsServer) error {
	return streamIDs(stream, i.GenerateIds)
}

// gatewayNumbers serves what is asked for together.
type gatewayNumbers struct {
	snowraftv1.UnimplementedSequenceServiceServer
	g *Gateway
}

// Next gives out numbers.
func (q *gatewayNumbers) Next(ctx context.Context, req *snowraftv1.NextRequest) (*snowraftv1.NextResponse, error) {
	n, err := q.g.next(ctx, req.GetSequence(), uint64(req.GetCount()), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	return nextResponse(req.GetSequence(), n, true), nil
}
