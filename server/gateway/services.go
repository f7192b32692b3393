package gateway

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/kernel"
)

// services are the services of a member. The gateway serves the issuing methods itself, and forwards the other unary methods to
// members.
type services struct {
	kernel *kernel.Kernel
	views  *views
	*members
}

func (s services) register(g grpc.ServiceRegistrar) error {
	own := map[string]any{ // implementations by service
		snowraftv1.IdService_ServiceDesc.ServiceName:         api.IDs{Kernel: s.kernel},
		snowraftv1.SequenceService_ServiceDesc.ServiceName:   api.Numbers{Kernel: s.kernel},
		snowraftv1.OperationsService_ServiceDesc.ServiceName: operations{},
		snowraftv1.ViewService_ServiceDesc.ServiceName:       s.views,
	}
	served := []string{ // methods of own that the gateway serves itself
		snowraftv1.IdService_GenerateIds_FullMethodName, snowraftv1.IdService_GenerateUuids_FullMethodName,
		snowraftv1.SequenceService_NextNumbers_FullMethodName, snowraftv1.SequenceService_GetLast_FullMethodName,
	}
	for _, desc := range []grpc.ServiceDesc{
		snowraftv1.IdService_ServiceDesc, snowraftv1.SequenceService_ServiceDesc, snowraftv1.ReservationService_ServiceDesc, snowraftv1.TemplateService_ServiceDesc, snowraftv1.LayoutService_ServiceDesc,
		snowraftv1.WorkerService_ServiceDesc, snowraftv1.BackfillService_ServiceDesc, snowraftv1.ClusterService_ServiceDesc,
		snowraftv1.TokenService_ServiceDesc, snowraftv1.OperationsService_ServiceDesc,
		snowraftv1.ViewService_ServiceDesc,
	} {
		desc.Methods = slices.Clone(desc.Methods) // the package's own slice must not change
		for i, m := range desc.Methods {
			if method := "/" + desc.ServiceName + "/" + m.MethodName; !slices.Contains(served, method) {
				desc.Methods[i].Handler = s.passOn(method)
			}
		}
		g.RegisterService(&desc, own[desc.ServiceName])
	}
	return nil
}

// operations is the part of the OperationsService that a gateway serves.
type operations struct {
	snowraftv1.UnimplementedOperationsServiceServer
}

// Backup implements snowraftv1.OperationsServiceServer.
func (operations) Backup(*snowraftv1.BackupRequest, grpc.ServerStreamingServer[snowraftv1.BackupResponse]) error {
	return rpc.NewError(rpc.UnknownEndpoint, "a gateway has no state to back up; set --addr to a member")
}

// Debug implements snowraftv1.OperationsServiceServer.
func (operations) Debug(*snowraftv1.DebugRequest, grpc.ServerStreamingServer[snowraftv1.DebugResponse]) error {
	return rpc.NewError(rpc.UnknownEndpoint, "a gateway has no debug archive; set --addr to a member")
}

// passOn returns a handler that forwards the calls of a method to a member.
func (m *members) passOn(method string) grpc.MethodHandler {
	rule, info := rpc.RuleOf(method), &grpc.UnaryServerInfo{Server: m, FullMethod: method}
	pass := func(ctx context.Context, req any) (any, error) {
		resp := rule.Reply()
		return resp, m.ask(ctx, method, req, resp)
	}
	return func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		req := rule.Request()
		if err := decode(req); err != nil {
			return nil, err
		}
		return intercept(ctx, req, info, pass)
	}
}
