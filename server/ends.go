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
	// mostEnds is the maximum number of sequences that have a metric of their own: those nearest their end, and those with the oldest open reservations.
	mostEnds = 20
	// endsAge is the age from which the list is made again. Making the list reads all sequences.
	endsAge = 30 * time.Second
)

var (
	descLeft      = kernel.Desc("sequence_remaining_ratio", "Part of a sequence's numbers that can still be granted, for the sequences nearest their end.", "sequence")
	descLeast     = kernel.Desc("sequences_remaining_ratio_min", "Least part of its numbers that a sequence with an end can still grant, without exhausted sequences; NaN without such a sequence.")
	descOpen      = kernel.Desc("sequence_open_reservations", "Open reservations of a gapless sequence, for the sequences with the oldest ones.", "sequence")
	descOldest    = kernel.Desc("sequence_oldest_open_reservation_timestamp_seconds", "Unix time of the oldest open reservation of a gapless sequence, for the sequences with the oldest ones.", "sequence")
	descAllOpen   = kernel.Desc("reservations_open", "Open reservations of all gapless sequences.")
	descOldestAll = kernel.Desc("oldest_open_reservation_timestamp_seconds", "Unix time of the oldest open reservation of all gapless sequences; NaN if there is none.")
	descExhausted = kernel.Desc("sequences_exhausted", "Sequences with an end that can grant no more numbers now.")
)

// ends collects the metrics that have the names of sequences.
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
func (*ends) Describe(ch chan<- *prometheus.Desc) {
	ch <- descLeft
	ch <- descOpen
	ch <- descOldest
}

// Collect implements prometheus.Collector.
func (e *ends) Collect(ch chan<- prometheus.Metric) {
	list := e.list()
	for _, q := range list.Near {
		ch <- prometheus.MustNewConstMetric(descLeft, prometheus.GaugeValue, q.Left, q.Name)
	}
	for _, q := range list.Open {
		ch <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(q.Reservations), q.Name)
		ch <- prometheus.MustNewConstMetric(descOldest, prometheus.GaugeValue, float64(q.OldestMillis)/1000, q.Name)
	}
}
