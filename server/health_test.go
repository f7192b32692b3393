package server_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	isServing    = grpc_health_v1.HealthCheckResponse_SERVING
	isNotServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

// ofIDs are the names of services that are healthy while IDs can be issued. ofTheRest are the names of services that work
// without IDs.
var (
	ofIDs     = []string{"", "snowraft.v1.IdService"}
	ofTheRest = []string{"snowraft.v1.SequenceService", "snowraft.v1.TemplateService", "snowraft.v1.LayoutService", "snowraft.v1.WorkerService", "snowraft.v1.ClusterService"}
)

func (n *node) health(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	n.t.Helper()
	r, err := grpc_health_v1.NewHealthClient(n.conn).Check(n.t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		n.t.Fatalf("health of %q: %v", service, err)
	}
	return r.GetStatus()
}

// watch returns a function that waits for the next health status of a service.
func (n *node) watch(service string) func() (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	n.t.Cleanup(cancel)
	w, err := grpc_health_v1.NewHealthClient(n.conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		n.t.Fatal(err)
	}
	return func() (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		r, err := w.Recv()
		return r.GetStatus(), err
	}
}

// A member that cannot issue IDs serves all other services until it shuts down.
func TestHealthByService(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for _, service := range append(ofTheRest, ofIDs...) {
			if got := n.health(service); got != isServing {
				t.Errorf("%q is %v", service, got)
			}
		}
		if _, err := grpc_health_v1.NewHealthClient(n.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "nope"}); status.Code(err) != codes.NotFound {
			t.Errorf("a service that there is not: %v", err)
		}
		ids, sequences := n.watch(ofIDs[1]), n.watch(ofTheRest[0])
		for _, next := range []func() (grpc_health_v1.HealthCheckResponse_ServingStatus, error){ids, sequences} {
			if got, err := next(); got != isServing || err != nil {
				t.Fatalf("%v, %v", got, err)
			}
		}

		n.setClock(-10 * time.Second) // the member issues nothing
		if got, err := ids(); got != isNotServing || err != nil {
			t.Errorf("with the clock back: %v, %v", got, err)
		}
		for _, service := range ofIDs {
			if got := n.health(service); got != isNotServing {
				t.Errorf("with the clock back, %q is %v", service, got)
			}
		}
		for _, service := range ofTheRest {
			if got := n.health(service); got != isServing {
				t.Errorf("with the clock back, %q is %v", service, got)
			}
		}

		closed := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			closed <- n.server.Close(ctx)
		}()
		if got, err := sequences(); got != isNotServing || err != nil { // there was no earlier status
			t.Errorf("during the shutdown: %v, %v", got, err)
		}
		if _, err := sequences(); status.Code(err) != codes.Unavailable {
			t.Errorf("after the last word: %v", err)
		}
		<-closed
	})
}

// A member without a leader that never had a worker stays healthy for other services. It reports the missing leader in its
// answers, because other members could not serve the calls either.
func TestHealthWithoutALeader(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := newNode(t, "alone")
		n.cfg.BootstrapExpect = 3
		n.start()
		for _, service := range ofIDs {
			if got := n.health(service); got != isNotServing {
				t.Errorf("%q is %v", service, got)
			}
		}
		for _, service := range ofTheRest {
			if got := n.health(service); got != isServing {
				t.Errorf("%q is %v", service, got)
			}
		}
	})
}
