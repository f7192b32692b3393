package frontend

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/kernel"
)

// metrics holds the metrics for Prometheus, listed in docs/metrics.md. Events increment counters as they happen; states are
// read at each scrape.
type metrics struct {
	registry *prometheus.Registry
	named    *prometheus.Registry // metrics with names of sequences, only for callers that may read those
	requests requests
	ids      *prometheus.CounterVec
	numbers  *prometheus.CounterVec
}

// newMetrics creates the metrics and registers the collectors of states, which are read at each scrape. names collects the
// metrics with names of sequences; it may be nil.
func newMetrics(tracer *tracing.Tracer, names prometheus.Collector, states ...prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), named: prometheus.NewRegistry(),
		requests: newRequests(tracer),
		ids: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "ids_issued_total", Help: "IDs issued to callers, by layout."}, []string{"layout"}),
		numbers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: namespace + "numbers_issued_total", Help: "Numbers of sequences issued to callers, by mode of the sequence."}, []string{"mode"}),
	}
	m.registry.MustRegister(states...)
	if names != nil {
		m.named.MustRegister(names)
	}
	m.registry.MustRegister(m.ids, m.numbers, &m.requests, m.requests.refused, spanCollector{tracer},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// issued returns the counters that an issuer increments.
func (m *metrics) issued() kernel.Counters {
	return kernel.Counters{
		IDs:     func(layout string) kernel.Counter { return m.ids.WithLabelValues(layout) },
		Strict:  m.numbers.WithLabelValues("strict"),
		Relaxed: m.numbers.WithLabelValues("relaxed"),
	}
}

// Issued returns the numbers of IDs and of sequence numbers that the process has issued since it started.
func (s *Server) Issued() (ids, numbers uint64) {
	return total(s.metrics.ids), total(s.metrics.numbers)
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

const namespace = "snowraft_"

// Desc describes a metric of Snowraft that is read at each scrape.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+name, help, labels, nil)
}

var (
	descReady = Desc("ready", "1 while this process can issue IDs, otherwise 0.")
	descBuild = Desc("build_info", "1; the version of the program is a label.", "version")

	descCertificate = Desc("certificate_expiry_timestamp_seconds", "Unix time at which the operator's custom certificate expires; NaN if the process has none.")
)

// state collects the metrics that every process has and that are read at each scrape.
type state struct{ server *Server }

// Describe implements prometheus.Collector.
func (state) Describe(ch chan<- *prometheus.Desc) {
	ch <- descReady
	ch <- descBuild
	ch <- descCertificate
	ch <- descAsking
}

// Collect implements prometheus.Collector.
func (s state) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descReady, prometheus.GaugeValue, Flag(s.server.Ready() == nil))
	ch <- prometheus.MustNewConstMetric(descBuild, prometheus.GaugeValue, 1, s.server.version)
	expires := math.NaN()
	if own := s.server.certificate; own != nil {
		expires = float64(own.NotAfter().Unix())
	}
	ch <- prometheus.MustNewConstMetric(descCertificate, prometheus.GaugeValue, expires)
	s.server.auth.secretClients(ch)
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
