package kernel

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
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

// methodKey names a method of a protocol. The number of keys is fixed: no part of a name is chosen by a caller.
type methodKey struct{ protocol, name string }

// Method counts and traces the requests of one method.
type Method struct {
	methodKey
	kernel *Kernel
	ok     atomic.Uint64
	took   histogram
}

// Of returns a method of a protocol.
func (k *Kernel) Of(protocol, name string) *Method {
	return k.methods.Get(methodKey{protocol, name}, func(key methodKey) *Method {
		return &Method{methodKey: key, kernel: k}
	})
}

// Served counts and traces one request; err may be nil. span is that of the request; nil if it has none. ctx may have the trace context
// of the caller.
func (m *Method) Served(ctx context.Context, span trace.Span, err error, took time.Duration) {
	if err == nil {
		m.ok.Add(1)
	} else {
		m.Failed(err)
	}
	m.took.observe(1, took)
	m.trace(ctx, span, err, took)
}

// Failed counts the error of one of the requests that are passed to Answered. It implements redis.Meter.
func (m *Method) Failed(err error) {
	m.kernel.refused.note(err)
	e := rpc.FromError(err)
	m.kernel.errors.WithLabelValues(m.protocol, m.name, rpc.CodeName(e.Code), e.Reason).Inc()
	if m.kernel.Events != nil && e.Code != codes.Canceled { // otherwise the caller gave up
		m.kernel.Events.Refused(cmp.Or(e.Reason, rpc.CodeName(e.Code)), severity(e.Code))
	}
}

// Answered counts requests that were answered together and therefore took the same time. It implements redis.Meter.
func (m *Method) Answered(ok, failed uint64, took time.Duration) {
	m.ok.Add(ok)
	m.took.observe(ok+failed, took)
	m.trace(context.Background(), nil, nil, took)
}

// collectRequests sends the metrics of requests. It omits series that were never counted.
func (k *Kernel) collectRequests(ch chan<- prometheus.Metric) {
	k.errors.Collect(ch)
	for _, m := range k.methods.All() {
		if ok := m.ok.Load(); ok > 0 {
			ch <- prometheus.MustNewConstMetric(descRequests, prometheus.CounterValue, float64(ok), m.protocol, m.name, codeOK, "")
		}
		if took := m.took.metric(descDuration, m.protocol, m.name); took != nil {
			ch <- took
		}
	}
}

var codeOK = rpc.CodeName(codes.OK)

// refusals counts the requests that this process refused because of their tokens, by fault.
type refusals struct{ *prometheus.CounterVec }

func newRefusals() refusals {
	r := refusals{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "token_refusals_total", Help: "Requests refused for their token, by what is wrong with it."}, []string{"fault"})}
	for _, fault := range trust.Faults() {
		r.WithLabelValues(string(fault))
	}
	return r
}

// note counts an error if it is this process's refusal of a token.
func (r refusals) note(err error) {
	if denied, ok := errors.AsType[*trust.Denied](err); ok && denied.Fault != "" {
		r.WithLabelValues(string(denied.Fault)).Inc()
	} else if _, ok := errors.AsType[*trust.RateLimited](err); ok {
		r.WithLabelValues(string(trust.FaultRate)).Inc()
	}
}
