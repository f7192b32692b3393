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

// ofIDs are the names whose health is that IDs can be issued, ofTheRest those of the
// services that go on without.
var (
	ofIDs     = []string{"", "snowraft.v1.IdService"}
	ofTheRest = []string{"snowraft.v1.SequenceService", "snowraft.v1.LayoutService", "snowraft.v1.WorkerService", "snowraft.v1.ClusterService"}
)

func (n *node) health(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	n.t.Helper()
	r, err := grpc_health_v1.NewHealthClient(n.conn).Check(n.t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		n.t.Fatalf("health of %q: %v", service, err)
	}
	return r.GetStatus()
}

// watch returns a function that waits for the next word of a service's health.
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

// A member that can't issue IDs serves everything else, until it ends.
func TestHealthByService(t *testing.T) {
	t.Parallel()
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

	n.setClock(-10 * time.Second) // it issues nothing
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
	if got, err := sequences(); got != isNotServing || err != nil { // and nothing was said before
		t.Errorf("while it ends: %v, %v", got, err)
	}
	if _, err := sequences(); status.Code(err) != codes.Unavailable {
		t.Errorf("after the last word: %v", err)
	}
	<-closed
}

// One that has no leader, and never had a worker, can't bring calls to the leader now, and says
// so in the answers: other members could not either.
func TestHealthWithoutALeader(t *testing.T) {
	t.Parallel()
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
}
