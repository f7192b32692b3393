package frontend

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
)

// healthPoll is the interval of the checks whether IDs can be issued, while a client watches.
const healthPoll = 100 * time.Millisecond

// healthService is gRPC's health protocol, by service: see status. Clients that balance by it
// keep asking a member for what it can still do.
//
// There are thousands of watchers, two for each client, and none costs anything while nothing
// changes: one timer looks for all.
type healthService struct {
	grpc_health_v1.UnimplementedHealthServer
	server *Server

	mu       sync.Mutex
	watchers int
	timer    *time.Timer // nil without watchers
	seen     health
	changed  chan struct{} // closed and replaced when seen changes
}

// health is the state that watchers receive.
type health struct {
	ready    bool // IDs can be issued
	draining bool
}

func newHealthService(s *Server) *healthService {
	return &healthService{server: s, changed: make(chan struct{})}
}

func (h *healthService) now() health {
	return health{ready: h.server.Ready() == nil, draining: h.server.draining.Load()}
}

// status is SERVING, for "" and the IdService, while this member can issue IDs; for the other
// services, whose calls it answers from its replica or brings to the leader, until it ends.
func (now health) status(service string) (s grpc_health_v1.HealthCheckResponse_ServingStatus, known bool) {
	var serving bool
	switch service {
	case "", snowraftv1.IdService_ServiceDesc.ServiceName:
		serving = now.ready
	case snowraftv1.SequenceService_ServiceDesc.ServiceName, snowraftv1.LayoutService_ServiceDesc.ServiceName,
		snowraftv1.WorkerService_ServiceDesc.ServiceName, snowraftv1.ClusterService_ServiceDesc.ServiceName,
		snowraftv1.TokenService_ServiceDesc.ServiceName, snowraftv1.OperationsService_ServiceDesc.ServiceName,
		snowraftv1.ViewService_ServiceDesc.ServiceName:
		serving = !now.draining
	default:
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN, false
	}
	if !serving {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING, true
	}
	return grpc_health_v1.HealthCheckResponse_SERVING, true
}

func (h *healthService) Check(_ context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	now, known := h.now().status(req.GetService())
	if !known {
		return nil, rpc.NewError(rpc.UnknownEndpoint, fmt.Sprintf("unknown service %q", req.GetService()))
	}
	return &grpc_health_v1.HealthCheckResponse{Status: now}, nil
}

func (h *healthService) Watch(req *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	h.join()
	defer h.leave()
	told := grpc_health_v1.HealthCheckResponse_ServingStatus(-1)
	for {
		seen, changed := h.latest()
		if now, _ := seen.status(req.GetService()); now != told {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		if seen.draining {
			return wire.ShuttingDown()
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// join has a watcher looked for, who then knows what is so now.
func (h *healthService) join() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look()
	if h.watchers++; h.timer == nil {
		h.timer = time.AfterFunc(healthPoll, h.poll)
	}
}

func (h *healthService) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers--; h.watchers == 0 {
		h.timer.Stop()
		h.timer = nil
	}
}

func (h *healthService) poll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look()
	if h.timer != nil {
		h.timer.Reset(healthPoll)
	}
}

// look notifies watchers of changes; the lock is held. They are notified of nothing else, so that
// all that they see is followed by a further change if it is over.
func (h *healthService) look() {
	if now := h.now(); now != h.seen {
		h.seen = now
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// latest returns the last state, and a channel that is closed when the state changes.
func (h *healthService) latest() (seen health, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen, h.changed
}
