package gateway

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/issue"
)

// services are those of a member: what issues is served here, and the rest by members.
type services struct {
	issuer *issue.Issuer
	*members
}

func (s services) register(g grpc.ServiceRegistrar) error {
	for _, service := range []struct {
		desc grpc.ServiceDesc
		impl any
		own  []string // methods that impl serves
	}{
		{snowraftv1.IdService_ServiceDesc, api.IDs{Issuer: s.issuer}, []string{"GenerateIds", "GenerateUuids"}},
		{snowraftv1.SequenceService_ServiceDesc, api.Numbers{Issuer: s.issuer}, []string{"Next", "GetLast"}},
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
			if desc.Methods[i].Handler, err = s.passOn(desc.ServiceName, m.MethodName); err != nil {
				return err
			}
		}
		g.RegisterService(&desc, service.impl)
	}
	return nil
}

// passOn serves a method by asking a member the same.
func (m *members) passOn(service, method string) (grpc.MethodHandler, error) {
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
	info := &grpc.UnaryServerInfo{Server: m, FullMethod: "/" + service + "/" + method}
	pass := func(ctx context.Context, req any) (any, error) {
		resp := response.New().Interface()
		if err := m.ask(ctx, info.FullMethod, req, resp); err != nil {
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
