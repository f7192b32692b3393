package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/server/frontend"
)

// stateCollector reads the member's state at each scrape.
type stateCollector struct{ s *Server }

var (
	descLeader    = frontend.Desc("leader", "1 while this member leads.")
	descTerm      = frontend.Desc("raft_term", "Raft's current term.")
	descCommit    = frontend.Desc("raft_commit_index", "How far the log is committed.")
	descApplied   = frontend.Desc("raft_applied_index", "How far the log is applied here.")
	descMembers   = frontend.Desc("members", "Members of the cluster.", "role", "alive")
	descObserved  = frontend.Desc("observed_clock_seconds", "The replicated observed clock, Unix time.")
	descOffset    = frontend.Desc("clock_offset_seconds", "How far this clock is ahead of the majority's.")
	descUntil     = frontend.Desc("lane_serve_until_seconds", "Until when a lane can issue without any quorum, Unix time; 0 without a window, absent while the lane is idle.", "layout", "lane", "worker")
	descUsed      = frontend.Desc("layout_workers_used", "Workers of a layout that were ever granted.", "layout")
	descCapacity  = frontend.Desc("layout_workers", "Workers that a layout has.", "layout")
	descExhausts  = frontend.Desc("layout_exhausts_at_seconds", "When a layout's time field is full, Unix time.", "layout")
	descFSM       = frontend.Desc("fsm_version", "The replicated version of the log's commands.")
	descSequences = frontend.Desc("sequences", "Sequences that there are.")
	descBlocks    = frontend.Desc("blocks_granted_total", "Blocks of relaxed sequences that this member was granted.")
	descWaits     = frontend.Desc("numbers_waited_total", "Requests for numbers of relaxed sequences that had to wait for a block.")
	descBurned    = frontend.Desc("numbers_skipped_total", "Numbers of this member's blocks that were never given out.")
)

// Describe implements prometheus.Collector. It describes nothing, as labels come and go.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	m, node := c.s.member, c.s.member.Node()
	gauge(frontend.DescReady, frontend.Flag(c.s.Ready() == nil))
	gauge(descLeader, frontend.Flag(node.IsLeader()))
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
			if lane.Idle {
				continue
			}
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
