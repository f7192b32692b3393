package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/frontend"
)

// asked counts what a gateway asks members. Their addresses are no labels: they come and go.
type asked struct {
	calls   *prometheus.CounterVec
	latency *prometheus.HistogramVec
}

func newAsked() *asked {
	return &asked{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_member_calls_total", Help: "Calls that this gateway made to members, each try by itself, by method, status code and reason of refusal."},
			[]string{"method", "code", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_member_call_seconds", Help: "Time that members took to answer this gateway.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"method"}),
	}
}

// try is a client's hook.
func (a *asked) try(method, _ string, took time.Duration, err error) {
	e := rpc.FromError(err)
	a.calls.WithLabelValues(method, e.Code.String(), e.Reason).Inc()
	a.latency.WithLabelValues(method).Observe(took.Seconds())
}

var (
	descBuffered = frontend.Desc("buffered_ids", "IDs of a layout that this gateway has fetched ahead.", "layout")
	descDropped  = frontend.Desc("buffered_ids_dropped_total", "IDs that this gateway fetched ahead and no caller used in time.", "layout")
	descStarved  = frontend.Desc("buffer_waits_total", "Requests for IDs that found the layout's buffer empty.", "layout")
)

// collector reads a gateway's state at each scrape.
type collector struct {
	g     *Gateway
	asked *asked
}

// Describe implements prometheus.Collector. It describes nothing, as layouts come and go.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(frontend.DescReady, prometheus.GaugeValue, frontend.Flag(c.g.Ready() == nil))
	for layout, source := range c.g.source.buffers.each() {
		s := source.Stats()
		ch <- prometheus.MustNewConstMetric(descBuffered, prometheus.GaugeValue, float64(s.Level), layout)
		ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(s.Dropped), layout)
		ch <- prometheus.MustNewConstMetric(descStarved, prometheus.CounterValue, float64(s.Waited), layout)
	}
	c.asked.calls.Collect(ch)
	c.asked.latency.Collect(ch)
}
