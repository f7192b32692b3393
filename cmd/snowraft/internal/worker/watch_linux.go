package worker

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/deadline"
)

// watch holds the facts about the leases and the command that operators see.
type watch struct {
	version string

	mu     sync.Mutex
	holds  leases // leases now
	starts int    // starts of the command
	ended  int    // ends of the command by the lease
	up     bool   // the command runs, and nothing ends it
}

// change changes what operators see.
func (w *watch) change(f func(*watch)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// ready reports whether the lease holds and the command runs. The caller holds the lock.
func (w *watch) ready() bool {
	if !w.up {
		return false
	}
	_, until := w.holds.window()
	return deadline.Now().Wall < time.Duration(until.UnixNano())
}

var (
	buildMetric = prometheus.NewDesc("snowraft_build_info", "1; the version of the program is a label.", []string{"version"}, nil)
	readyMetric = prometheus.NewDesc("snowraft_worker_ready", "1 while the lease holds and the command runs.", nil, nil)
	endMetric   = prometheus.NewDesc("snowraft_worker_window_end_timestamp_seconds",
		"Unix time at which the window of the leased worker ends.", []string{"layout", "worker"}, nil)
	failMetric = prometheus.NewDesc("snowraft_worker_window_failing",
		"1 while the window of the leased worker is not extended.", []string{"layout", "worker"}, nil)
	startsMetric = prometheus.NewDesc("snowraft_worker_starts_total", "Starts of the command.", nil, nil)
	endedMetric  = prometheus.NewDesc("snowraft_worker_lease_ends_total", "Ends of the command by the end of its lease.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (w *watch) Describe(c chan<- *prometheus.Desc) { prometheus.DescribeByCollect(w, c) }

// Collect implements [prometheus.Collector].
func (w *watch) Collect(c chan<- prometheus.Metric) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	w.mu.Lock()
	defer w.mu.Unlock()
	c <- prometheus.MustNewConstMetric(buildMetric, gauge, 1, w.version)
	c <- prometheus.MustNewConstMetric(readyMetric, gauge, number(w.ready()))
	c <- prometheus.MustNewConstMetric(startsMetric, counter, float64(w.starts))
	c <- prometheus.MustNewConstMetric(endedMetric, counter, float64(w.ended))
	for _, h := range w.holds {
		_, until := h.Window()
		layout, worker := h.Layout().Name(), cli.Decimal(h.Worker())
		c <- prometheus.MustNewConstMetric(endMetric, gauge, float64(until.UnixMilli())/1000, layout, worker)
		c <- prometheus.MustNewConstMetric(failMetric, gauge, number(h.Problem() != nil), layout, worker)
	}
}

// number returns 1 for true.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// serve answers at an address until the returned function is called.
func (w *watch) serve(address string) (end func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--http-addr %q: %w", address, cli.Innermost(err))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(w)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.ready() {
			http.Error(rw, "the command does not run with a worker", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(rw, "ok")
	})
	s := &http.Server{Handler: mux, MaxHeaderBytes: 4 << 10, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until Close
	return func() { _ = s.Close() }, nil
}
