package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/kernel"
)

const (
	// mostEnds is the maximum number of sequences that have a metric of their own, those nearest their end.
	mostEnds = 20
	// endsAge is the age from which the list is made again. Making the list reads all sequences.
	endsAge = 30 * time.Second
)

var (
	descLeft      = kernel.Desc("sequence_remaining_ratio", "Part of a sequence's numbers that can still be granted, for the sequences nearest their end.", "sequence")
	descLeast     = kernel.Desc("sequences_remaining_ratio_min", "Least part of its numbers that a sequence with an end can still grant, without exhausted sequences; NaN without such a sequence.")
	descExhausted = kernel.Desc("sequences_exhausted", "Sequences with an end that can grant no more numbers now.")
)

// ends collects the metric that has the names of sequences.
type ends struct {
	member func() *member.Member

	mu    sync.Mutex
	at    int64 // time at which last was made, clock.Reading.Mono in ms
	last  api.Ends
	known bool // last was made
}

// list returns the sequences that are nearest their end, at most 30 s old.
func (e *ends) list() api.Ends {
	m := e.member()
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := m.Clock().Now().Mono; !e.known || now-e.at >= endsAge.Milliseconds() {
		e.last, e.at, e.known = api.EndsOf(m.State().Listing(), m.State().Observed().Load(), mostEnds), now, true
	}
	return e.last
}

// Describe implements prometheus.Collector.
func (*ends) Describe(ch chan<- *prometheus.Desc) { ch <- descLeft }

// Collect implements prometheus.Collector.
func (e *ends) Collect(ch chan<- prometheus.Metric) {
	for _, q := range e.list().Near {
		ch <- prometheus.MustNewConstMetric(descLeft, prometheus.GaugeValue, q.Left, q.Name)
	}
}
