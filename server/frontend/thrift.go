package frontend

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// twitter is the layout of all IDs for Thrift clients. A layout of that name in a cluster may have another datacenter; the
// places of the fields are the same.
var twitter, _ = snowflake.Preset(thrift.Layout)

// thriftBackend implements [thrift.Backend].
type thriftBackend struct {
	Process
	server *Server
	wait   func(ctx context.Context) error // see Behind.Twitter
	agents *agents
}

func (s *Server) newThrift(b Behind) *thrift.Server {
	return thrift.New(thriftBackend{b.Process, s, b.Twitter, newAgents(s.metrics.registry)}, s.cfg.Logger)
}

// Anonymous implements [thrift.Backend].
func (b thriftBackend) Anonymous(ctx context.Context) (*trust.Principal, error) {
	return b.server.auth.Tokens.Authenticate(ctx, "")
}

// Twitter issues an ID of the layout "twitter".
func (b thriftBackend) Twitter(ctx context.Context) (id thrift.ID, err error) {
	if b.wait != nil {
		if err := b.wait(ctx); err != nil {
			return id, err
		}
	}
	taken, err := b.server.kernel.TakeIDs(ctx, thrift.Layout, 1)
	if err != nil {
		return id, err
	}
	defer taken.Free()
	first := taken.IDs[0].First
	parts, err := twitter.Unpack(first)
	return thrift.ID{ID: int64(first), Datacenter: int64(parts.Datacenter), Worker: int64(parts.Worker)}, err //nolint:gosec // at most 63 bits
}

// Served implements [thrift.Backend].
func (b thriftBackend) Served(method string, err error, took time.Duration) {
	b.server.kernel.Of(kernel.Thrift, method).Served(context.Background(), nil, err, took)
}

// Issued implements [thrift.Backend].
func (b thriftBackend) Issued(agent string) { b.agents.issued(agent) }

const (
	// mostAgents bounds the number of user agents with their own counter, because callers choose the names.
	mostAgents = 100
	// otherAgents is the label of all other user agents. It contains a space, unlike any user agent.
	otherAgents = "all others"
)

// agents counts IDs by user agent.
type agents struct {
	ids   *prometheus.CounterVec
	mu    sync.Mutex
	known map[string]prometheus.Counter // guarded by mu
}

func newAgents(r prometheus.Registerer) *agents {
	a := &agents{
		ids: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_thrift_ids_issued_total", Help: "IDs issued to Thrift clients, by user agent.",
		}, []string{"agent"}),
		known: map[string]prometheus.Counter{},
	}
	r.MustRegister(a.ids)
	return a
}

// issued counts an ID of an agent.
func (a *agents) issued(agent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	counter, ok := a.known[agent]
	switch {
	case ok:
	case len(a.known) < mostAgents:
		counter = a.ids.WithLabelValues(agent)
		a.known[agent] = counter
	default:
		counter = a.ids.WithLabelValues(otherAgents)
	}
	counter.Inc()
}
