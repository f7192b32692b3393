// Package frontend is the ports that programs talk to, and how they open, count, drain and close.
// Members and gateways have one each; what is behind it are an issuer, gRPC services and a
// [Process].
package frontend

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/snowraft/snowraft/server/issue"
	"github.com/snowraft/snowraft/server/redis"
)

// drainTimeout bounds the wait for requests in flight.
const drainTimeout = 3 * time.Second

// Config describes a Front.
type Config struct {
	What    string // "member" or "gateway"
	Version string // of Snowraft
	Logger  *slog.Logger
	Ports   *Ports
	Ready   func() error         // what [Front.Ready] returns until the drain
	State   prometheus.Collector // read at each scrape
}

// Front is the ports of a process.
type Front struct {
	what    string
	version string
	ready   func() error
	logger  *slog.Logger
	ports   *Ports
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

// New returns a front that serves nothing yet.
func New(cfg Config) *Front {
	f := &Front{
		what: cfg.What, version: cfg.Version, logger: cfg.Logger, ports: cfg.Ports, ready: cfg.Ready,
		inner: newInProcess(), done: make(chan struct{}),
	}
	f.metrics = newMetrics(cfg.State, state{f})
	return f
}

// Behind is what a front opens its ports to.
type Behind struct {
	// Issuer is what all protocols take IDs and numbers from; see [Front.Issuer].
	Issuer   *issue.Issuer
	Process  Process
	Services func(grpc.ServiceRegistrar) error
	// Serve is the interceptor of unary calls, inside of what all calls have.
	Serve grpc.UnaryServerInterceptor
}

// Issuer returns an issuer that counts in the front's metrics.
func (f *Front) Issuer(source issue.Source) *issue.Issuer {
	return issue.New(source, f.metrics.issued())
}

// Open opens the ports.
func (f *Front) Open(b Behind) (err error) {
	f.grpc = f.newGRPC(b.Serve)
	grpc_health_v1.RegisterHealthServer(f.grpc, newHealthService(f))
	registerReflection(f.grpc)
	if err = b.Services(f.grpc); err != nil {
		return err
	}
	if f.http, err = f.newHTTP(redisBackend{b.Issuer, b.Process}); err != nil {
		return err
	}
	f.open(func() error { return f.grpc.Serve(f.inner.listener) })
	f.open(func() error { return f.grpc.Serve(f.ports.API) })
	if f.ports.Redis != nil {
		f.redis = redis.New(redis.Config{
			Backend: redisBackend{b.Issuer, b.Process}, Logger: f.logger,
			Meter: func(command string) redis.Meter { return f.metrics.requests.of(protocolRedis, command) },
		})
		f.open(func() error { return f.redis.Serve(f.ports.Redis) })
	}
	f.open(func() error {
		if err := f.http.Serve(f.ports.HTTP); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// open serves a port; if that fails, the process must end.
func (f *Front) open(serve func() error) {
	f.wg.Go(func() {
		if err := serve(); err != nil {
			f.Finish(err)
		}
	})
}

// Finish tells the owner that the process must end.
func (f *Front) Finish(err error) {
	f.doneOnce.Do(func() {
		f.err = err
		f.draining.Store(true)
		close(f.done)
	})
}

// Done is closed when the process must shut down: the member left, was removed, or must not
// continue. The owner then calls Close.
func (f *Front) Done() <-chan struct{} { return f.done }

// Err returns why the process must shut down; nil after a member left, and before Done.
func (f *Front) Err() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// Ready returns nil when IDs can be issued now, or else the reason why not.
func (f *Front) Ready() error {
	if f.draining.Load() {
		return fmt.Errorf("this %s is shutting down", f.what)
	}
	return f.ready()
}

// APIAddr is where others reach the API.
func (f *Front) APIAddr() string { return f.ports.Advertised(f.ports.API) }

// HTTPAddr is where others reach the HTTP port.
func (f *Front) HTTPAddr() string { return f.ports.Advertised(f.ports.HTTP) }

// RedisAddr is where others reach the Redis port; empty when it is off.
func (f *Front) RedisAddr() string {
	if f.ports.Redis == nil {
		return ""
	}
	return f.ports.Advertised(f.ports.Redis)
}
