package frontend

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
)

// watcher is the server side of a watch.
type watcher struct {
	ctx      context.Context
	received chan grpc_health_v1.HealthCheckResponse_ServingStatus
}

func (w *watcher) Context() context.Context { return w.ctx }
func (w *watcher) Send(r *grpc_health_v1.HealthCheckResponse) error {
	w.received <- r.GetStatus()
	return nil
}
func (w *watcher) SetHeader(metadata.MD) error  { return nil }
func (w *watcher) SendHeader(metadata.MD) error { return nil }
func (w *watcher) SetTrailer(metadata.MD)       {}
func (w *watcher) SendMsg(any) error            { return nil }
func (w *watcher) RecvMsg(any) error            { return nil }

// A thousand watchers cause as many readiness checks as one watcher, and all of them learn of each change. Without watchers
// there are no checks.
func TestManyHealthWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const watchers = 1000
		var looks atomic.Int64
		var broken atomic.Bool
		h := newHealthService(&Server{cfg: Config{What: "member", Ready: func() error {
			looks.Add(1)
			if broken.Load() {
				return errors.New("broken")
			}
			return nil
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		all := make([]*watcher, watchers)
		ended := make(chan error, watchers)
		for i := range all {
			all[i] = &watcher{ctx, make(chan grpc_health_v1.HealthCheckResponse_ServingStatus, 10)}
			go func() { ended <- h.Watch(&grpc_health_v1.HealthCheckRequest{}, all[i]) }()
		}
		hear := func(what grpc_health_v1.HealthCheckResponse_ServingStatus) {
			t.Helper()
			time.Sleep(2 * healthPoll)
			synctest.Wait()
			for i, w := range all {
				select {
				case got := <-w.received:
					if got != what || len(w.received) > 0 {
						t.Fatalf("watcher %d received %v and %d more, want %v", i, got, len(w.received), what)
					}
				default:
					t.Fatalf("watcher %d heard nothing, want %v", i, what)
				}
			}
		}
		hear(grpc_health_v1.HealthCheckResponse_SERVING)
		before := looks.Load()
		time.Sleep(10 * time.Second)
		if n := looks.Load() - before; n < 90 || n > 110 {
			t.Errorf("looked %d times in 10 s", n)
		}
		broken.Store(true)
		hear(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		broken.Store(false)
		hear(grpc_health_v1.HealthCheckResponse_SERVING)

		cancel()
		for range watchers {
			if err := <-ended; err == nil {
				t.Error("a watch ended without an error")
			}
		}
		before = looks.Load()
		time.Sleep(time.Minute)
		if n := looks.Load() - before; n != 0 {
			t.Errorf("looked %d times without watchers", n)
		}
	})
}

// A new watcher receives the present state, and then learns of each change, however quickly it follows.
func TestHealthWatchMissesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		h := newHealthService(&Server{cfg: Config{What: "member", Ready: func() error {
			if broken.Load() {
				return errors.New("broken")
			}
			return nil
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		watch := func() *watcher {
			w := &watcher{ctx, make(chan grpc_health_v1.HealthCheckResponse_ServingStatus, 10)}
			go func() { _ = h.Watch(&grpc_health_v1.HealthCheckRequest{}, w) }()
			synctest.Wait()
			return w
		}
		first := watch()
		time.Sleep(healthPoll * 3 / 2)
		broken.Store(true)
		second := watch()
		broken.Store(false) // before the timer's next check
		time.Sleep(2 * healthPoll)
		synctest.Wait()
		for _, w := range []*watcher{first, second} {
			var last grpc_health_v1.HealthCheckResponse_ServingStatus
			for len(w.received) > 0 {
				last = <-w.received
			}
			if last != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("the last status is %v, want SERVING", last)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// A watch that begins during the drain ends with an error, and without a message. After a message, clients of gRPC would watch
// again without a pause.
func TestHealthWatchesDuringDrain(t *testing.T) {
	server := &Server{cfg: Config{What: "member", Ready: func() error { return nil }}}
	h := newHealthService(server)
	watch := func() *watcher {
		return &watcher{t.Context(), make(chan grpc_health_v1.HealthCheckResponse_ServingStatus, 10)}
	}
	early, late, ended := watch(), watch(), make(chan error)
	go func() { ended <- h.Watch(&grpc_health_v1.HealthCheckRequest{}, early) }()
	if got := <-early.received; got != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("before the drain: %v", got)
	}
	server.draining.Store(true)
	err := h.Watch(&grpc_health_v1.HealthCheckRequest{}, late)
	if rpc.FromError(err).Reason != rpc.ShuttingDown || len(late.received) > 0 {
		t.Errorf("a watch that begins during the drain received %d messages, and ended with %v", len(late.received), err)
	}
	err = <-ended
	if rpc.FromError(err).Reason != rpc.ShuttingDown || len(early.received) != 1 || <-early.received != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("a watch that began before the drain ended with %v", err)
	}
}
