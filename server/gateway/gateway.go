// Package gateway implements a stateless gateway to a cluster. A [Gateway] has the client ports of a member and sends requests
// to the members.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/trust"
)

// endpoints is an alias with a lower-case name: Gateway embeds it, so its methods are exported and the field is not.
type endpoints = frontend.Server

// Gateway is a running gateway. It holds no data, no vote and no worker, so gateways can be started and stopped at any time.
//
// IDs come from one buffer per requested layout. Concurrent requests for numbers of a sequence share calls to a member. Other
// requests go to a member unchanged.
type Gateway struct {
	*endpoints
	cfg      Config
	began    int64 // start time, monotonic clock in ms
	clock    clock.Source
	client   *client.Client
	source   *source
	views    *views
	receipts *receipts
	close    context.CancelFunc // ends the calls of views
	stop     context.CancelFunc // ends relaying
	relaying sync.WaitGroup
	// createsAt is the time from which the gateway again requests the creation of a sequence for an INCR, monotonic clock in ms.
	createsAt atomic.Int64

	closeOnce sync.Once
	closeErr  error
}

// Open binds all ports and begins to connect to the members. It returns when the ports are served. At that time the gateway may
// not have reached a member yet; see Ready. ctx bounds Open, not the gateway, which the caller must close. After an error, all
// ports are closed.
func Open(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ports, err := frontend.Listen(ctx, cfg.Network, frontend.Addresses{
		API: cfg.APIAddr, HTTP: cfg.HTTPAddr, Redis: cfg.RedisAddr, Thrift: cfg.ThriftAddr, HTTPSocket: cfg.HTTPSocket, RedisSocket: cfg.RedisSocket,
	})
	if err != nil {
		return nil, err
	}
	ports.Names = cfg.HTTPHosts
	g := &Gateway{cfg: cfg, clock: clock.System()}
	g.began = g.clock().Mono
	asked, m := newAsked(), &members{id: uuid.NewString(), name: cfg.Name, secured: cfg.Token != ""}
	g.receipts = new(receipts)
	g.receipts.relay.Now = func() time.Duration { return time.Duration(g.clock().Mono) * time.Millisecond }
	options := []client.Option{
		client.WithTimeout(limits.CallTimeout), client.WithHooks(client.Hooks{Try: asked.try}),
		client.WithDialOptions(grpc.WithIdleTimeout(0), grpc.WithChainUnaryInterceptor(m.sign, g.receipts.keep), grpc.WithChainStreamInterceptor(m.signStream)),
		client.WithDialOptions(frontend.DialOptions(cfg.Network)...),
	}
	if cfg.Token != "" {
		options = append(options, client.WithToken(cfg.Token))
	}
	if cfg.CA != nil {
		options = append(options, client.WithCA(cfg.CA))
	}
	g.client, err = client.New(cfg.Members, options...)
	if err != nil {
		ports.Close()
		return nil, err
	}
	m.conn = g.client.Conn()
	g.views = &views{members: m}
	g.views.closing, g.close = context.WithCancel(context.Background())
	g.source = newSource(m, func(layout string) (idSource, error) {
		return client.NewBuffer(g.client.IDs(layout), client.WithBufferAge(bufferAge), client.WithBufferSize(minBuffer, maxBuffer))
	})
	g.endpoints = frontend.New(frontend.Config{
		What: "gateway", Version: cfg.Version, Logger: cfg.Logger.With("gateway", cfg.Name), Ports: ports, Ready: g.client.Ready, State: collector{g, asked},
		Auth: g.auth(m), Audit: cmp.Or(cfg.AuditLog, trust.NewAuditLog(nil, cfg.Logger)), Certificate: g.cfg.OwnCertificate, Tracer: cfg.Tracer,
	})
	g.Kernel().Source = g.source
	err = g.endpoints.Open(frontend.Behind{
		Process: process{m, g}, Services: services{g.Kernel(), g.views, m}.register, Accept: m.accept, TLS: g.tls(), Receipts: g.receipts,
	})
	if err != nil {
		ports.Close()
		return nil, errors.Join(err, g.client.Close())
	}
	life, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.relaying.Go(func() { g.receipts.run(life, m) })
	_ = g.Ready() // begins to connect
	return g, nil
}

// Alive returns nil: a gateway has no work of its own that could be stuck.
func (g *Gateway) Alive() error { return nil }

// Close shuts the gateway down gracefully. The gateway stops being ready, finishes requests in flight, then closes its
// connections to the members. ctx bounds the wait for requests. Further calls wait for the first one and return its error.
func (g *Gateway) Close(ctx context.Context) error {
	g.closeOnce.Do(func() {
		g.close()
		g.Drain(ctx)
		g.source.buffers.close()
		g.stop()
		g.relaying.Wait()
		g.closeErr = g.client.Close()
		g.End()
	})
	return g.closeErr
}

// uptime returns the time since the gateway started.
func (g *Gateway) uptime() time.Duration {
	return time.Duration(g.clock().Mono-g.began) * time.Millisecond
}
