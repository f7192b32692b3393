package frontend

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
)

// metrics are what Prometheus scrapes. Counters are counted where things
// happen; everything that is a state is read when it is scraped.
type metrics struct {
	registry *prometheus.Registry
	ids      prometheus.Counter
	numbers  prometheus.Counter
	calls    *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	good     goods
	requests *prometheus.CounterVec
	answered *prometheus.HistogramVec
	goodHTTP goods
	refusals *prometheus.CounterVec
}

// newMetrics also registers what is read at each scrape.
func newMetrics(state prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		ids: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snowraft_ids_issued_total", Help: "IDs issued by this member."}),
		numbers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snowraft_numbers_issued_total", Help: "Numbers of sequences given out by this member, those of strict sequences that it forwarded included."}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_calls_total", Help: "Unary gRPC calls served, by method, status code and reason of refusal."},
			[]string{"method", "code", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_call_seconds", Help: "Time to serve a unary gRPC call.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"method"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_http_requests_total", Help: "HTTP requests answered, by the pattern of their route and the status."},
			[]string{"route", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_refusals_total", Help: "Refusals by the Redis protocol and by the short paths of HTTP, which are no gRPC calls, by status code and reason."},
			[]string{"door", "code", "reason"}),
		answered: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_http_request_seconds", Help: "Time to answer an HTTP request.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"route"}),
	}
	m.registry.MustRegister(m.ids, m.numbers, m.calls, m.latency, m.requests, m.answered, m.refusals, state,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// served counts a gRPC call.
func (m *metrics) served(method string, err error, took time.Duration) {
	g := m.good.of(method, func() good {
		return good{m.calls.WithLabelValues(method, codes.OK.String(), ""), m.latency.WithLabelValues(method)}
	})
	g.latency.Observe(took.Seconds())
	if err == nil {
		g.count.Inc()
		return
	}
	e := rpc.FromError(err)
	m.calls.WithLabelValues(method, e.Code.String(), e.Reason).Inc()
}

// refusedBy counts the refusals of a door that is not gRPC.
func (m *metrics) refusedBy(door string) func(error) {
	return func(err error) {
		e := rpc.FromError(err)
		m.refusals.WithLabelValues(door, e.Code.String(), e.Reason).Inc()
	}
}

// servedHTTP counts an HTTP request.
func (m *metrics) servedHTTP(route string, status int, took time.Duration) {
	g := m.goodHTTP.of(route, func() good {
		return good{m.requests.WithLabelValues(route, strconv.Itoa(http.StatusOK)), m.answered.WithLabelValues(route)}
	})
	g.latency.Observe(took.Seconds())
	if status == http.StatusOK {
		g.count.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// good is what calls that end well are counted with. To look labels up costs more than
// an answer from memory, so it is kept.
type good struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// goods are the good calls by method or route, of which there are finitely many.
type goods struct{ byName sync.Map }

func (g *goods) of(name string, find func() good) good {
	found, ok := g.byName.Load(name)
	if !ok {
		found, _ = g.byName.LoadOrStore(name, find())
	}
	return found.(good)
}

// Desc describes a metric of Snowraft's that is read when it is scraped.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("snowraft_"+name, help, labels, nil)
}

// DescReady is of the gauge that members and gateways have alike.
var DescReady = Desc("ready", "1 when this member can issue IDs now.")

// Flag returns 1 for true.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
