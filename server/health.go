package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// healthPoll is how often a watcher's status is looked at.
const healthPoll = 100 * time.Millisecond

// healthService is gRPC's health protocol, by service: see status. Clients that balance by it
// keep asking a member for what it can still do.
type healthService struct {
	grpc_health_v1.UnimplementedHealthServer
	s *front
}

// status is SERVING, for "" and the IdService, while this member can issue IDs; for the other
// services, whose calls it answers from its replica or brings to the leader, until it ends.
func (h *healthService) status(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, bool) {
	var serving bool
	switch service {
	case "", snowraftv1.IdService_ServiceDesc.ServiceName:
		serving = h.s.Ready() == nil
	case snowraftv1.SequenceService_ServiceDesc.ServiceName, snowraftv1.LayoutService_ServiceDesc.ServiceName,
		snowraftv1.WorkerService_ServiceDesc.ServiceName, snowraftv1.ClusterService_ServiceDesc.ServiceName:
		serving = !h.s.draining.Load()
	default:
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN, false
	}
	if !serving {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING, true
	}
	return grpc_health_v1.HealthCheckResponse_SERVING, true
}

func (h *healthService) Check(_ context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	now, known := h.status(req.GetService())
	if !known {
		return nil, status.Errorf(codes.NotFound, "unknown service %q", req.GetService())
	}
	return &grpc_health_v1.HealthCheckResponse{Status: now}, nil
}

func (h *healthService) Watch(req *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	tick := time.NewTicker(healthPoll)
	defer tick.Stop()
	told := grpc_health_v1.HealthCheckResponse_ServingStatus(-1)
	for {
		if now, _ := h.status(req.GetService()); now != told {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		if h.s.draining.Load() {
			return status.Error(codes.Unavailable, "this member is shutting down")
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
