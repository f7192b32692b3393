package kernel

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/cowmap"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a Kernel. The functions read what transports know of calls; none may be nil.
type Config struct {
	Audit  *trust.AuditLog // nil: no audit log
	Tracer *tracing.Tracer // nil: no spans
	// Address returns the address of a call's caller.
	Address func(ctx context.Context) string
	// Index passes the index of an audited change on to the member that forwarded the call.
	Index func(ctx context.Context, index uint64)
}

// Kernel authorizes, limits, audits, counts and traces the calls of a process, and issues its IDs and numbers. Its methods may be
// called from any goroutine.
//
// Each call has a principal; in an open cluster, it is [trust.Open]. Nothing is issued for a call that was not admitted with its
// right, and nothing for a caller that lost the right while the call waited. A failed request does not count against the rate of
// its token.
type Kernel struct {
	cfg             Config
	ids, numbers    *prometheus.CounterVec
	strict, relaxed prometheus.Counter                     // numbers
	byLayout        cowmap.Map[string, prometheus.Counter] // keyed by layout name of the request; only layouts with issued IDs
	failed          atomic.Uint64                          // requests for IDs or numbers that failed

	errors  *prometheus.CounterVec // descRequests for every code except OK
	refused refusals
	methods cowmap.Map[methodKey, *Method]

	// Events records failed requests and audited calls. Set before any call; nil: they are not recorded.
	Events Events
	// Source issues IDs and numbers. Set before any call.
	Source Source
	// Before returns the present state of the resource that an audited call is about to change; nil if unknown. Set before any call;
	// nil: the state is always unknown.
	Before func(req any) proto.Message
}

// New returns a Kernel.
func New(cfg Config) *Kernel {
	k := &Kernel{
		cfg: cfg, refused: newRefusals(), errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: namespace + requestsName, Help: requestsHelp}, requestLabels),
		ids: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "ids_issued_total", Help: "IDs issued to callers, by layout."}, []string{"layout"}),
		numbers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "numbers_issued_total", Help: "Numbers of sequences issued to callers, by mode of the sequence."}, []string{"mode"}),
	}
	k.strict, k.relaxed = k.numbers.WithLabelValues("strict"), k.numbers.WithLabelValues("relaxed")
	return k
}

// AdmitCall returns the admission of a call of p with the right that the rule of its request names, or an error if p lacks the
// right. The rule must not be nil. Refusals are audited.
func (k *Kernel) AdmitCall(ctx context.Context, p *trust.Principal, rule *rpc.Rule, req any) (trust.Admission, error) {
	a, err := p.Admit(Needed(rule, req))
	if err != nil {
		k.AuditRefusal(trust.WithPrincipal(ctx, p), rule, req, err)
	}
	return a, err
}

// Needed returns the right that the rule of a request names, and the resource that the request names. The rule must not be nil.
func Needed(rule *rpc.Rule, req any) (right, resource string) {
	right = rule.GetRight()
	if trust.TakesResource(right) {
		if resource = trust.Everything; rule.GetResource() != "" {
			resource = rule.Resource(req)
		}
	}
	return right, resource
}

// Issued returns the numbers of IDs and of sequence numbers that the process has issued since it started, and of the requests for
// them that failed after they had been admitted.
func (k *Kernel) Issued() (ids, numbers, refused uint64) {
	return total(k.ids), total(k.numbers), k.failed.Load()
}

// total returns the sum of a vector of counters.
func total(v *prometheus.CounterVec) (sum uint64) {
	counters := make(chan prometheus.Metric)
	go func() {
		defer close(counters)
		v.Collect(counters)
	}()
	for c := range counters {
		var m dto.Metric
		if c.Write(&m) == nil {
			sum += uint64(m.GetCounter().GetValue())
		}
	}
	return sum
}

// Describe implements prometheus.Collector.
func (k *Kernel) Describe(ch chan<- *prometheus.Desc) {
	ch <- descRequests
	ch <- descDuration
	k.refused.Describe(ch)
	k.ids.Describe(ch)
	k.numbers.Describe(ch)
}

// Collect implements prometheus.Collector.
func (k *Kernel) Collect(ch chan<- prometheus.Metric) {
	k.collectRequests(ch)
	k.refused.Collect(ch)
	k.ids.Collect(ch)
	k.numbers.Collect(ch)
}

const namespace = "snowraft_"

// Desc describes a metric of Snowraft that is read at each scrape.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}
