package server

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/rpc"
)

// metrics are what Prometheus scrapes. Counters are counted where things
// happen; everything that is a state is read when it is scraped.
type metrics struct {
	registry *prometheus.Registry
	ids      prometheus.Counter
	numbers  prometheus.Counter
	calls    *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	good     goods
	requests *prometheus.CounterVec
	answered *prometheus.HistogramVec
	goodHTTP goods
	refusals *prometheus.CounterVec
}

// newMetrics also registers what is read at each scrape.
func newMetrics(state prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		ids: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snowraft_ids_issued_total", Help: "IDs issued by this member."}),
		numbers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snowraft_numbers_issued_total", Help: "Numbers of sequences given out by this member, those of strict sequences that it forwarded included."}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_calls_total", Help: "Unary gRPC calls served, by method, status code and reason of refusal."},
			[]string{"method", "code", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_call_seconds", Help: "Time to serve a unary gRPC call.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"method"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_http_requests_total", Help: "HTTP requests answered, by the pattern of their route and the status."},
			[]string{"route", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowraft_refusals_total", Help: "Refusals by the Redis protocol and by the short paths of HTTP, which are no gRPC calls, by status code and reason."},
			[]string{"door", "code", "reason"}),
		answered: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snowraft_http_request_seconds", Help: "Time to answer an HTTP request.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"route"}),
	}
	m.registry.MustRegister(m.ids, m.numbers, m.calls, m.latency, m.requests, m.answered, m.refusals, state,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) issued(count uint32) { m.ids.Add(float64(count)) }

// served counts a gRPC call.
func (m *metrics) served(method string, err error, took time.Duration) {
	g := m.good.of(method, func() good {
		return good{m.calls.WithLabelValues(method, codes.OK.String(), ""), m.latency.WithLabelValues(method)}
	})
	g.latency.Observe(took.Seconds())
	if err == nil {
		g.count.Inc()
		return
	}
	e := rpc.FromError(err)
	m.calls.WithLabelValues(method, e.Code.String(), e.Reason).Inc()
}

// refusedBy counts the refusals of a door that is not gRPC.
func (m *metrics) refusedBy(door string) func(error) {
	return func(err error) {
		e := rpc.FromError(err)
		m.refusals.WithLabelValues(door, e.Code.String(), e.Reason).Inc()
	}
}

// servedHTTP counts an HTTP request.
func (m *metrics) servedHTTP(route string, status int, took time.Duration) {
	g := m.goodHTTP.of(route, func() good {
		return good{m.requests.WithLabelValues(route, strconv.Itoa(http.StatusOK)), m.answered.WithLabelValues(route)}
	})
	g.latency.Observe(took.Seconds())
	if status == http.StatusOK {
		g.count.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

// good is what calls that end well are counted with. To look labels up costs more than
// an answer from memory, so it is kept.
type good struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// goods are the good calls by method or route, of which there are finitely many.
type goods struct{ byName sync.Map }

func (g *goods) of(name string, find func() good) good {
	found, ok := g.byName.Load(name)
	if !ok {
		found, _ = g.byName.LoadOrStore(name, find())
	}
	return found.(good)
}

// stateCollector reads the member's state at each scrape.
type stateCollector struct{ s *Server }

var (
	descReady     = desc("ready", "1 when this member can issue IDs now.")
	descLeader    = desc("leader", "1 while this member leads.")
	descTerm      = desc("raft_term", "Raft's current term.")
	descCommit    = desc("raft_commit_index", "How far the log is committed.")
	descApplied   = desc("raft_applied_index", "How far the log is applied here.")
	descMembers   = desc("members", "Members of the cluster.", "role", "alive")
	descObserved  = desc("observed_clock_seconds", "The replicated observed clock, Unix time.")
	descOffset    = desc("clock_offset_seconds", "How far this clock is ahead of the majority's.")
	descUntil     = desc("lane_serve_until_seconds", "Until when a lane can issue without any quorum, Unix time; 0 without a window.", "layout", "lane", "worker")
	descUsed      = desc("layout_workers_used", "Workers of a layout that were ever granted.", "layout")
	descCapacity  = desc("layout_workers", "Workers that a layout has.", "layout")
	descExhausts  = desc("layout_exhausts_at_seconds", "When a layout's time field is full, Unix time.", "layout")
	descFSM       = desc("fsm_version", "The replicated version of the log's commands.")
	descSequences = desc("sequences", "Sequences that there are.")
	descBlocks    = desc("blocks_granted_total", "Blocks of relaxed sequences that this member was granted.")
	descWaits     = desc("numbers_waited_total", "Requests for numbers of relaxed sequences that had to wait for a block.")
	descBurned    = desc("numbers_skipped_total", "Numbers of this member's blocks that were never given out.")
	allStateDescs = []*prometheus.Desc{descReady, descLeader, descTerm, descCommit, descApplied, descMembers, descObserved,
		descOffset, descUntil, descUsed, descCapacity, descExhausts, descFSM, descSequences, descBlocks, descWaits, descBurned}
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("snowraft_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range allStateDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	m, node := c.s.member, c.s.member.Node()
	gauge(descReady, flag(c.s.Ready() == nil))
	gauge(descLeader, flag(node.IsLeader()))
	gauge(descTerm, float64(node.Term()))
	gauge(descCommit, float64(node.CommitIndex()))
	gauge(descApplied, float64(node.AppliedIndex()))
	gauge(descObserved, float64(m.State().Observed().Load())/1000)
	gauge(descOffset, m.Clock().Offset().Seconds())
	type kind struct {
		voter, alive bool
	}
	count := make(map[kind]int)
	for _, p := range node.Members() {
		count[kind{p.Voter, p.Alive}]++
	}
	for _, k := range []kind{{true, true}, {true, false}, {false, true}, {false, false}} {
		name := "nonvoter"
		if k.voter {
			name = "voter"
		}
		gauge(descMembers, float64(count[k]), name, strconv.FormatBool(k.alive))
	}
	counter := func(d *prometheus.Desc, v uint64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	stats := m.SequenceStats()
	counter(descBlocks, stats.Blocks)
	counter(descWaits, stats.Waited)
	counter(descBurned, stats.Burned)
	for _, l := range m.Lanes() {
		for _, lane := range l.Lanes {
			until := 0.0
			if lane.Token != 0 {
				until = float64(lane.ServeUntil.UnixMilli()) / 1000
			}
			gauge(descUntil, until, l.Layout, strconv.Itoa(lane.Lane), strconv.FormatUint(lane.Worker, 10))
		}
	}
	m.State().View(func(s *fsm.State) {
		gauge(descFSM, float64(s.FSMVersion()))
		gauge(descSequences, float64(s.SequenceCount()))
		for _, l := range s.Layouts() {
			gauge(descUsed, float64(l.Used), l.Layout.Name())
			gauge(descCapacity, float64(l.Layout.Workers()), l.Layout.Name())
			gauge(descExhausts, float64(l.Layout.ExhaustsAt())/1000, l.Layout.Name())
		}
	})
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
