package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/kernel"
)

// asked counts the requests that a gateway sends to members. Addresses of members are not labels, because members come and go.
type asked struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newAsked() *asked {
	return &asked{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_member_requests_total", Help: "Requests that this gateway sent to members, each try counted, by method, status code and reason of the error."},
			[]string{"method", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_member_request_duration_seconds", Help: "Time that members took to answer this gateway, by method.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"method"}),
	}
}

// try implements client.Hooks.Try.
func (a *asked) try(t client.TryInfo) {
	e := rpc.FromError(t.Err)
	method := t.Method[1:] // without the slash
	a.requests.WithLabelValues(method, rpc.CodeName(e.Code), e.Reason).Inc()
	a.duration.WithLabelValues(method).Observe(t.Took.Seconds())
}

var (
	descBuffered = kernel.Desc("buffered_ids", "IDs of the layout that this gateway has fetched ahead.", "layout")
	descDropped  = kernel.Desc("buffered_ids_dropped_total", "IDs of the layout that this gateway fetched ahead and discarded because no caller took them in time.", "layout")
	descStarved  = kernel.Desc("buffer_waits_total", "Waits for an ID of the layout because the buffer was empty.", "layout")
)

// collector reads a gateway's state at each scrape.
type collector struct {
	g     *Gateway
	asked *asked
}

// Describe implements prometheus.Collector. It describes nothing, because layouts come and go.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for layout, source := range c.g.source.buffers.each() {
		s := source.Stats()
		ch <- prometheus.MustNewConstMetric(descBuffered, prometheus.GaugeValue, float64(s.Level), layout)
		ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(s.Dropped), layout)
		ch <- prometheus.MustNewConstMetric(descStarved, prometheus.CounterValue, float64(s.Waited), layout)
	}
	c.asked.requests.Collect(ch)
	c.asked.duration.Collect(ch)
}
