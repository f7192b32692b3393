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

// healthPoll is the interval between readiness checks while a client watches.
const healthPoll = 100 * time.Millisecond

// healthService implements gRPC's health protocol per service; see status. A client that balances by health keeps sending a
// member the requests that the member can still serve.
//
// A process has thousands of watchers, two for each client. One timer polls for all of them, so that a watcher costs nothing
// while nothing changes.
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

// status returns SERVING for "" and the IdService while this member can issue IDs. It returns SERVING for the other services
// until the drain begins, because the member answers their calls from its replica or forwards them to the leader.
func (now health) status(service string) (s grpc_health_v1.HealthCheckResponse_ServingStatus, known bool) {
	var serving bool
	switch service {
	case "", snowraftv1.IdService_ServiceDesc.ServiceName:
		serving = now.ready
	case snowraftv1.SequenceService_ServiceDesc.ServiceName, snowraftv1.LayoutService_ServiceDesc.ServiceName,
		snowraftv1.ReservationService_ServiceDesc.ServiceName,
		snowraftv1.WorkerService_ServiceDesc.ServiceName, snowraftv1.BackfillService_ServiceDesc.ServiceName, snowraftv1.ClusterService_ServiceDesc.ServiceName,
		snowraftv1.TemplateService_ServiceDesc.ServiceName, snowraftv1.TokenService_ServiceDesc.ServiceName, snowraftv1.OperationsService_ServiceDesc.ServiceName,
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
	const none = grpc_health_v1.HealthCheckResponse_ServingStatus(-1)
	last := none
	for {
		seen, changed := h.latest()
		if seen.draining && last == none {
			return wire.ShuttingDown() // after a message, clients of gRPC would watch again without a pause
		}
		if now, _ := seen.status(req.GetService()); now != last {
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
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

// join adds a watcher and updates the state for it.
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

// look updates the state and notifies watchers of a change. Watchers learn of no other changes, so that each state they see
// is followed by a notification when it ends. Requires h.mu.
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
