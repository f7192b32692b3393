package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/web"
)

// drainTimeout bounds the wait for requests in flight.
const drainTimeout = 3 * time.Second

// front is the ports that programs talk to, and how they open and close. A member has one, and
// so has a gateway.
type front struct {
	what    string       // "member" or "gateway"
	ready   func() error // what Ready says until all ends
	logger  *slog.Logger
	ports   *ports
	grpc    *grpc.Server
	inner   *inProcess
	http    *http.Server
	redis   *redis.Server // nil when it is off
	gate    gate
	metrics *metrics
	handle  grpc.UnaryServerInterceptor // serves calls, inside of what all calls have

	draining atomic.Bool // readiness is off

	doneOnce sync.Once
	done     chan struct{}
	err      error
	wg       sync.WaitGroup
}

func newFront(what string, logger *slog.Logger, p *ports) *front {
	return &front{what: what, logger: logger, ports: p, inner: newInProcess(), done: make(chan struct{})}
}

// backend is what a front has behind it, beside the services of gRPC.
type backend interface {
	redis.Backend
	web.Backend
	// Failure is not nil when the process is of no use any more.
	Failure() error
}

// openDoors opens the doors: gRPC, whose server is set, and what stands on it.
func (s *front) openDoors(b backend, redisCreate string) error {
	var err error
	if s.http, err = s.newHTTP(b); err != nil {
		return err
	}
	s.open(func() error { return s.grpc.Serve(s.inner.listener) })
	s.open(func() error { return s.grpc.Serve(s.ports.api) })
	if s.ports.redis != nil {
		create, _ := redis.ParseCreateMode(redisCreate) // it was checked with the configuration
		s.redis = redis.New(redis.Config{Backend: b, Create: create, Logger: s.logger, Refused: s.metrics.refusedBy("redis")})
		s.open(func() error { return s.redis.Serve(s.ports.redis) })
	}
	s.open(func() error {
		if err := s.http.Serve(s.ports.http); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// open serves a door; if that fails, all must end.
func (s *front) open(door func() error) {
	s.wg.Go(func() {
		if err := door(); err != nil {
			s.finish(err)
		}
	})
}

// finish says that the process must end.
func (s *front) finish(err error) {
	s.doneOnce.Do(func() {
		s.err = err
		s.draining.Store(true)
		close(s.done)
	})
}

// Done is closed when all must end by itself: a member left, was removed, or
// must not go on. The owner then calls Close.
func (s *front) Done() <-chan struct{} { return s.done }

// Err is why all must end; nil after a member left, and before Done.
func (s *front) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Ready is nil when IDs can be issued now, and else says why not.
func (s *front) Ready() error {
	if s.draining.Load() {
		return fmt.Errorf("this %s is shutting down", s.what)
	}
	return s.ready()
}

// end stops everything, after what is behind the doors has ended.
func (s *front) end() {
	_ = s.http.Close()
	s.finish(nil)
	s.wg.Wait()
}

// drain stops accepting calls and waits for those in flight, for at most budget: those
// over Redis's protocol and HTTP first, since they use gRPC, and for half of it, so
// that one client who dawdles there does not cut off the calls over gRPC.
func (s *front) drain(ctx context.Context, budget time.Duration) {
	defer s.inner.close()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.drainDoors(ctx, budget/2)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
		return
	case <-ctx.Done():
	}
	s.grpc.Stop() // long streams
	<-stopped
}

// drainDoors does so for Redis's protocol and HTTP, at the same time: none of them takes
// calls while another waits for its own.
func (s *front) drainDoors(ctx context.Context, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	s.gate.closing.Store(true)
	var doors sync.WaitGroup
	doors.Go(s.gate.shut)
	if s.redis != nil {
		doors.Go(func() { _ = s.redis.Close(ctx) }) // fails only for requests that ctx cut off
	}
	left := make(chan struct{})
	s.wg.Go(func() {
		defer close(left)
		doors.Wait()
	})
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// APIAddr is where others reach the API.
func (s *front) APIAddr() string { return s.ports.advertised(s.ports.api) }

// HTTPAddr is where others reach the HTTP port.
func (s *front) HTTPAddr() string { return s.ports.advertised(s.ports.http) }

// RedisAddr is where others reach the Redis port; empty when it is off.
func (s *front) RedisAddr() string {
	if s.ports.redis == nil {
		return ""
	}
	return s.ports.advertised(s.ports.redis)
}
