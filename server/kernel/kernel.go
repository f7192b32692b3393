package kernel

import (
	"cmp"
	"context"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// Config describes a Kernel. The functions read what transports know of calls; none may be nil.
type Config struct {
	Secured bool            // callers have rights
	Audit   *trust.AuditLog // nil: no audit log
	Tracer  *tracing.Tracer // nil: no spans
	// Address returns the address of a call's caller.
	Address func(ctx context.Context) string
	// Relayed reports whether another member forwarded the call. That member needs the audit index, which it gets by Index.
	Relayed func(ctx context.Context) bool
	Index   func(ctx context.Context, index uint64)
}

// Kernel judges, audits, counts and traces the calls of a process. Its methods may be called from any goroutine.
type Kernel struct {
	*Requests
	cfg          Config
	ids, numbers *prometheus.CounterVec

	// Before returns the present state of the resource that an audited call is about to change; nil if unknown. Set before any call;
	// nil: the state is always unknown.
	Before func(req any) proto.Message
}

// New returns a Kernel.
func New(cfg Config) *Kernel {
	return &Kernel{
		cfg: cfg, Requests: NewRequests(cfg.Tracer),
		ids: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "ids_issued_total", Help: "IDs issued to callers, by layout."}, []string{"layout"}),
		numbers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "numbers_issued_total", Help: "Numbers of sequences issued to callers, by mode of the sequence."}, []string{"mode"}),
	}
}

// Admit returns the call's admission, or an error if its caller lacks a right on a resource. In an open cluster, calls need no
// admission.
func (k *Kernel) Admit(ctx context.Context, right, resource string) (a trust.Admission, err error) {
	if !k.cfg.Secured {
		return a, nil
	}
	return trust.PrincipalOf(ctx).Admit(right, resource)
}

// AdmitIDs is Admit for IDs of a layout; the empty name means the default layout.
func (k *Kernel) AdmitIDs(ctx context.Context, layout string) (trust.Admission, error) {
	return k.Admit(ctx, trust.RightIssueIDs, cmp.Or(layout, snowflake.Default().Name()))
}

// AdmitCall is Admit for the right that the rule of a request names, which must not be nil. It audits refusals.
func (k *Kernel) AdmitCall(ctx context.Context, rule *rpc.Rule, req any) (a trust.Admission, err error) {
	if !k.cfg.Secured {
		return a, nil
	}
	right, resource := Needed(rule, req)
	if a, err = k.Admit(ctx, right, resource); err != nil {
		k.AuditRefusal(ctx, rule, req, err)
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

// Actor returns the name of a call's caller.
func (k *Kernel) Actor(ctx context.Context) string {
	if !k.cfg.Secured {
		return trust.Open().Actor()
	}
	return trust.PrincipalOf(ctx).Actor()
}

// Issuer returns an issuer that demands admissions in a secured cluster, and counts in the metrics of the process.
func (k *Kernel) Issuer(source Source) *Issuer {
	return NewIssuer(source, Counters{
		IDs:     func(layout string) Counter { return k.ids.WithLabelValues(layout) },
		Strict:  k.numbers.WithLabelValues("strict"),
		Relaxed: k.numbers.WithLabelValues("relaxed"),
	}, k.cfg.Secured, k.cfg.Relayed)
}

// Issued returns the numbers of IDs and of sequence numbers that the process has issued since it started.
func (k *Kernel) Issued() (ids, numbers uint64) { return total(k.ids), total(k.numbers) }

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
	k.Requests.Describe(ch)
	ch <- descRefusals
	k.ids.Describe(ch)
	k.numbers.Describe(ch)
}

// Collect implements prometheus.Collector.
func (k *Kernel) Collect(ch chan<- prometheus.Metric) {
	k.Requests.Collect(ch)
	k.refused.collect(ch)
	k.ids.Collect(ch)
	k.numbers.Collect(ch)
}

const namespace = "snowraft_"

// Desc describes a metric of Snowraft that is read at each scrape.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}
