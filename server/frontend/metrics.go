package frontend

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/snowraft/snowraft/server/kernel"
)

// metrics holds the metrics for Prometheus, listed in docs/metrics.md. Events increment counters as they happen; states are
// read at each scrape.
type metrics struct {
	registry *prometheus.Registry
	named    *prometheus.Registry // metrics with names of sequences, only for callers that may read those
}

// newMetrics registers collectors. names collects the metrics with names of sequences; it may be nil.
func newMetrics(names prometheus.Collector, others ...prometheus.Collector) metrics {
	m := metrics{registry: prometheus.NewRegistry(), named: prometheus.NewRegistry()}
	if names != nil {
		m.named.MustRegister(names)
	}
	m.registry.MustRegister(others...)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

var (
	descReady = kernel.Desc("ready", "1 while this process can issue IDs, otherwise 0.")
	descBuild = kernel.Desc("build_info", "1; the version of the program is a label.", "version")

	descHeld = kernel.Desc("client_memory_bytes", "Memory that the connections of clients are counted with, in bytes.")

	descCertificate = kernel.Desc("certificate_expiry_timestamp_seconds", "Unix time at which the operator's custom certificate expires; NaN if the process has none.")
)

// state collects the metrics that every process has and that are read at each scrape.
type state struct{ server *Server }

// Describe implements prometheus.Collector.
func (state) Describe(ch chan<- *prometheus.Desc) {
	ch <- descReady
	ch <- descBuild
	ch <- descCertificate
	ch <- descAsking
	ch <- descHeld
}

// Collect implements prometheus.Collector.
func (s state) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descReady, prometheus.GaugeValue, Flag(s.server.Ready() == nil))
	ch <- prometheus.MustNewConstMetric(descBuild, prometheus.GaugeValue, 1, s.server.cfg.Version)
	expires := math.NaN()
	if own := s.server.cfg.Certificate; own != nil {
		expires = float64(own.NotAfter().Unix())
	}
	ch <- prometheus.MustNewConstMetric(descCertificate, prometheus.GaugeValue, expires)
	s.server.auth.secretClients(ch)
	ch <- prometheus.MustNewConstMetric(descHeld, prometheus.GaugeValue, float64(s.server.held()))
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
