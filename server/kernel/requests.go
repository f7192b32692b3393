package kernel

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/cowmap"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
)

// Names of the protocols in the metrics.
const (
	GRPC   = "grpc"
	HTTP   = "http"
	Redis  = "redis"
	Thrift = "thrift"
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

// Requests counts the requests of every protocol and their durations, and traces them.
type Requests struct {
	// Events records failed requests and audited calls. Set before any call; nil: they are not recorded.
	Events Events

	tracer  *tracing.Tracer
	failed  *prometheus.CounterVec // descRequests for every code except OK
	refused refusals
	methods cowmap.Map[methodKey, *Method]
}

// methodKey names a method of a protocol. The number of keys is fixed: no part of a name is chosen by a caller.
type methodKey struct{ protocol, name string }

// Method counts and traces the requests of one method.
type Method struct {
	methodKey
	tracer  *tracing.Tracer // nil: no spans
	failed  *prometheus.CounterVec
	refused refusals
	events  Events
	ok      atomic.Uint64
	took    histogram
}

// NewRequests returns counters without requests. A nil tracer makes no spans.
func NewRequests(tracer *tracing.Tracer) *Requests {
	return &Requests{tracer: tracer, refused: newRefusals(), failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: namespace + requestsName, Help: requestsHelp}, requestLabels)}
}

// Of returns a method of a protocol.
func (r *Requests) Of(protocol, name string) *Method {
	return r.methods.Get(methodKey{protocol, name}, func(key methodKey) *Method {
		return &Method{methodKey: key, tracer: r.tracer, failed: r.failed, refused: r.refused, events: r.Events}
	})
}

// Served counts and traces one request; err may be nil. span is that of the request; nil if it has none. ctx may have the trace context
// of the caller.
func (m *Method) Served(ctx context.Context, span trace.Span, err error, took time.Duration) {
	m.count(err)
	m.took.observe(1, took)
	m.trace(ctx, span, err, took)
}

// count counts one request without its duration; err may be nil.
func (m *Method) count(err error) {
	if err == nil {
		m.ok.Add(1)
	} else {
		m.Failed(err)
	}
}

// Failed counts the error of one of the requests that are passed to Answered. It implements redis.Meter.
func (m *Method) Failed(err error) {
	m.refused.note(err)
	e := rpc.FromError(err)
	m.failed.WithLabelValues(m.protocol, m.name, rpc.CodeName(e.Code), e.Reason).Inc()
	if m.events != nil && e.Code != codes.Canceled { // otherwise the caller gave up
		m.events.Refused(cmp.Or(e.Reason, rpc.CodeName(e.Code)), severity(e.Code))
	}
}

// Answered counts requests that were answered together and therefore took the same time. It implements redis.Meter.
func (m *Method) Answered(ok, failed uint64, took time.Duration) {
	m.ok.Add(ok)
	m.took.observe(ok+failed, took)
	m.trace(context.Background(), nil, nil, took)
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(ch chan<- *prometheus.Desc) {
	ch <- descRequests
	ch <- descDuration
}

// Collect implements prometheus.Collector. It omits series that were never counted.
func (r *Requests) Collect(ch chan<- prometheus.Metric) {
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
