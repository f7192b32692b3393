package frontend

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/cowmap"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
)

// Names of the protocols in the metrics.
const (
	protocolGRPC   = "grpc"
	protocolHTTP   = "http"
	protocolRedis  = "redis"
	protocolThrift = "thrift"
)

const (
	requestsName = "requests_total"
	requestsHelp = "Requests answered, by protocol, method, status code and reason of the error."
)

var (
	requestLabels = []string{"protocol", "method", "code", "reason"}
	descRequests  = Desc(requestsName, requestsHelp, requestLabels...)
	descDuration  = Desc("request_duration_seconds", "Time from the arrival of a request to its answer, by protocol and method.", "protocol", "method")
)

// requests counts the requests of every protocol and their durations.
type requests struct {
	tracer  *tracing.Tracer
	failed  *prometheus.CounterVec // descRequests for every code except OK
	refused refusals
	events  Events // nil: none
	methods cowmap.Map[methodKey, *method]
}

// methodKey names a method of a protocol. The number of keys is fixed: no part of a name is chosen by a caller.
type methodKey struct{ protocol, name string }

// method counts the requests of one method.
type method struct {
	methodKey
	tracer  *tracing.Tracer // nil: no spans
	failed  *prometheus.CounterVec
	refused refusals
	events  Events
	ok      atomic.Uint64
	took    histogram
}

func newRequests(tracer *tracing.Tracer) requests {
	return requests{tracer: tracer, refused: newRefusals(), failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: namespace + requestsName, Help: requestsHelp}, requestLabels)}
}

// of returns a method of a protocol.
func (r *requests) of(protocol, name string) *method {
	return r.methods.Get(methodKey{protocol, name}, func(key methodKey) *method {
		return &method{methodKey: key, tracer: r.tracer, failed: r.failed, refused: r.refused, events: r.events}
	})
}

// served counts one request; err may be nil.
func (m *method) served(err error, took time.Duration) {
	m.count(err)
	m.took.observe(1, took)
}

// count counts one request without its duration; err may be nil.
func (m *method) count(err error) {
	if err == nil {
		m.ok.Add(1)
	} else {
		m.Failed(err)
	}
}

// Failed counts the error of one of the requests that are passed to Answered. It implements redis.Meter.
func (m *method) Failed(err error) {
	m.refused.note(err)
	e := rpc.FromError(err)
	m.failed.WithLabelValues(m.protocol, m.name, rpc.CodeName(e.Code), e.Reason).Inc()
	if m.events != nil && e.Code != codes.Canceled { // otherwise the caller gave up
		m.events.Refused(cmp.Or(e.Reason, rpc.CodeName(e.Code)), severity(e.Code))
	}
}

// Answered counts requests that were answered together and therefore took the same time. It implements redis.Meter.
func (m *method) Answered(ok, failed uint64, took time.Duration) {
	m.ok.Add(ok)
	m.took.observe(ok+failed, took)
	if m.tracer.Slow(took) {
		m.trace(context.Background(), nil, nil, took)
	}
}

// Describe implements prometheus.Collector.
func (r *requests) Describe(ch chan<- *prometheus.Desc) {
	ch <- descRequests
	ch <- descDuration
}

// Collect implements prometheus.Collector. It omits series that were never counted.
func (r *requests) Collect(ch chan<- prometheus.Metric) {
	r.failed.Collect(ch)
	for _, m := range r.methods.All() {
		if ok := m.ok.Load(); ok > 0 {
			ch <- prometheus.MustNewConstMetric(descRequests, prometheus.CounterValue, float64(ok), m.protocol, m.name, codeOK, "")
		}
		if took := m.took.metric(descDuration, m.protocol, m.name); took != nil {
			ch <- took
		}
	}
}

var codeOK = rpc.CodeName(codes.OK)
