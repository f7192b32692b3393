// Package frontend serves the protocols for clients: it opens, counts, drains and closes their ports. A member or gateway has
// one [Server]. Behind the Server are a source of IDs and numbers, gRPC services and a [Process].
package frontend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/console"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/trust"
)

// drainTimeout bounds the wait for requests in flight.
const drainTimeout = 3 * time.Second

// Config describes a Server.
type Config struct {
	What    string // "member" or "gateway"
	Version string // version of Snowraft
	Logger  *slog.Logger
	Ports   *Ports
	Ready   func() error         // result of [Server.Ready] until the drain
	State   prometheus.Collector // read at each scrape
	Named   prometheus.Collector // read at each scrape, with names of sequences; nil: no metric has such names
	Auth    *Auth                // nil: an open cluster
	Audit   *trust.AuditLog      // nil: no audit log
	Tracer  *tracing.Tracer      // nil: no spans
	// Certificate is the operator's custom certificate for clients; nil: none.
	Certificate *trust.OwnCertificate
}

// Server serves the protocols of a process at its ports. The owner calls New, Open, Drain and End in this order, each once;
// other methods may be called from any goroutine.
type Server struct {
	cfg     Config
	behind  Behind // zero until Open
	auth    *Auth
	grpc    *grpc.Server
	local   *local
	http    *http.Server
	console *console.Console // nil until the ports open
	redis   *redis.Server    // nil when it is off
	thrift  *thrift.Server   // nil when it is off
	gate    gate
	clients *slots.Budget
	metrics metrics
	kernel  *kernel.Kernel

	lifetime
}

// New returns a Server that serves nothing yet.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, auth: cfg.Auth.noting(cfg.Logger)}
	s.begin()
	s.local = &local{server: s, methods: make(map[string]localMethod)}
	s.kernel = kernel.New(kernel.Config{
		Audit: cfg.Audit, Tracer: cfg.Tracer, Address: Address,
		Index: func(ctx context.Context, index uint64) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs(rpc.AuditIndex, strconv.FormatUint(index, 10)))
		},
	})
	s.metrics = newMetrics(cfg.Named, cfg.State, state{s}, s.kernel)
	return s
}

// Behind is the part of the process that a Server opens its ports to.
type Behind struct {
	Process  Process
	Services func(grpc.ServiceRegistrar) error
	// Before returns the present state of the resource that an audited call is about to change; nil if unknown. If the
	// function is nil, the state is always unknown.
	Before func(req any) proto.Message
	// TLS returns the TLS configuration of a port for a list of ALPN protocols; nil: plain text. If Plain is set, clients may
	// also connect without TLS.
	TLS   func(protocols ...string) *tls.Config
	Plain bool
	// Twitter waits until the cluster has the layout of Thrift clients, and returns the reason if it has none when ctx ends. If it
	// is nil, calls do not wait for the layout.
	Twitter func(ctx context.Context) error
	// Accept returns an error for a call of a method that a process must not have sent here. It reads the metadata of the call. If it
	// is nil, each call is accepted.
	Accept func(ctx context.Context, method string) error
	// Serve is the innermost interceptor of unary calls; nil: none.
	Serve grpc.UnaryServerInterceptor
	// Receipts hands out receipts and hears them; nil: none.
	Receipts Receipts
	// Events records failed requests and audited calls; nil: they are not recorded.
	Events kernel.Events
}

// Metrics returns a gatherer of all metrics, including those with names of sequences.
func (s *Server) Metrics() prometheus.Gatherer {
	return prometheus.Gatherers{s.metrics.registry, s.metrics.named}
}

// Kernel returns what every call passes.
func (s *Server) Kernel() *kernel.Kernel { return s.kernel }

// Open serves the ports. If it returns an error, it serves none of them, and the caller closes them. A port that fails later
// ends the process; see Done.
func (s *Server) Open(b Behind) (err error) {
	s.behind = b
	s.kernel.Before, s.kernel.Events = b.Before, b.Events
	slots := s.slots(openFiles())
	s.clients = conn.NewBudget(slots, debug.SetMemoryLimit(-1))
	s.grpc = s.newGRPC()
	grpc_health_v1.RegisterHealthServer(s.grpc, newHealthService(s))
	registerReflection(s.grpc)
	if err = b.Services(s.local); err != nil {
		return err
	}
	if s.http, err = s.newHTTP(redisBackend{b.Process, s.kernel}); err != nil {
		return err
	}
	s.open(func() error {
		return s.grpc.Serve(s.bounded(s.cfg.Ports.API, kernel.GRPC))
	})
	if ports := present(s.cfg.Ports.Redis, s.cfg.Ports.RedisSocket); len(ports) > 0 {
		s.redis = redis.New(redis.Config{
			Backend: redisBackend{b.Process, s.kernel}, Logger: s.cfg.Logger, Authenticate: s.loggedIn,
			MaxClients: slots,
			Meter:      func(command string) redis.Meter { return s.kernel.Of(kernel.Redis, command) },
		})
		for _, l := range ports {
			s.open(func() error { return s.redis.Serve(s.secured(s.bounded(l, kernel.Redis))) })
		}
	}
	if s.cfg.Ports.Thrift != nil {
		s.thrift = s.newThrift(b)
		s.open(func() error { return s.thrift.Serve(s.secured(s.bounded(s.cfg.Ports.Thrift, kernel.Thrift))) })
	}
	for _, l := range present(s.cfg.Ports.HTTP, s.cfg.Ports.HTTPSocket) {
		s.open(func() error {
			if err := s.http.Serve(s.secured(s.bounded(l, kernel.HTTP), "http/1.1")); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	return nil
}

// bounded returns a port whose connections have slots and memory of all clients. A connection that gets none counts as a failed
// request.
func (s *Server) bounded(l net.Listener, protocol string) net.Listener {
	full := rpc.NewError(rpc.Overloaded, "too many connections")
	method := s.kernel.Of(protocol, "other")
	return conn.Listen(l, s.clients, func(nc net.Conn) {
		method.Failed(full)
		if protocol == kernel.Redis && !s.speaksTLS(l) {
			redis.RefuseClient(nc)
		}
	})
}

// held returns the number of bytes that the connections of clients hold; 0 until the ports open.
func (s *Server) held() int64 {
	if s.clients == nil {
		return 0
	}
	return s.clients.Held()
}

// open serves a port. If that fails, the process must shut down.
func (s *Server) open(serve func() error) {
	s.wg.Go(func() {
		if err := serve(); err != nil {
			s.Finish(err)
		}
	})
}

// Ready returns nil if the process can issue IDs now, or the reason why it cannot.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return fmt.Errorf("this %s is shutting down", s.cfg.What)
	}
	return s.cfg.Ready()
}

// APIAddr returns the advertised address of the API.
func (s *Server) APIAddr() string { return s.cfg.Ports.Advertised(s.cfg.Ports.API) }

// HTTPAddr returns the advertised address of the HTTP port.
func (s *Server) HTTPAddr() string { return s.cfg.Ports.Advertised(s.cfg.Ports.HTTP) }

// RedisAddr returns the advertised address of the Redis port; empty if the listener is disabled.
func (s *Server) RedisAddr() string { return s.cfg.Ports.Advertised(s.cfg.Ports.Redis) }

// ThriftAddr returns the advertised address of the Thrift port; empty if the listener is disabled.
func (s *Server) ThriftAddr() string { return s.cfg.Ports.Advertised(s.cfg.Ports.Thrift) }
