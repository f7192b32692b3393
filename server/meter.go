package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/server/kernel"
)

var (
	// No bound is an integer, because the formats of /metrics write integers differently.
	syncBounds = prometheus.ExponentialBuckets(0.00025, 2, 16)
	tripBounds = prometheus.ExponentialBuckets(0.0001, 2, 13)

	descSynced = kernel.Desc("log_sync_duration_seconds", "Time to store log entries, until they are on the disk.")
	descTrip   = kernel.Desc("peer_round_trip_seconds", "Time of a datagram to another member and back, by member.", "peer")
)

// meter collects the durations that the member's node measures, for the metrics.
type meter struct {
	synced prometheus.Histogram

	mu    sync.Mutex
	trips map[string]prometheus.Histogram // keyed by member ID
}

func newMeter() *meter {
	return &meter{
		synced: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "synced", Buckets: syncBounds}),
		trips:  make(map[string]prometheus.Histogram),
	}
}

// cluster returns the functions that a node calls.
func (m *meter) cluster() cluster.Meter {
	return cluster.Meter{
		Synced:    func(took time.Duration) { m.synced.Observe(took.Seconds()) },
		RoundTrip: func(member string, took time.Duration) { m.tripsTo(member).Observe(took.Seconds()) },
	}
}

// tripsTo returns the histogram of round trips to a member. Nodes measure only members, so there are few histograms.
func (m *meter) tripsTo(member string) prometheus.Histogram {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.trips[member]
	if h == nil {
		h = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "trips", Buckets: tripBounds})
		m.trips[member] = h
	}
	return h
}

// collect sends the metrics. labels maps the IDs of the other present members to their labels. collect deletes the histograms
// of former members.
func (m *meter) collect(ch chan<- prometheus.Metric, labels map[string]string) {
	ch <- constHistogram(descSynced, m.synced)
	for id, label := range labels {
		ch <- constHistogram(descTrip, m.tripsTo(id), label)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.trips {
		if _, member := labels[id]; !member {
			delete(m.trips, id)
		}
	}
}

// constHistogram returns the present counts of a histogram under another name.
func constHistogram(desc *prometheus.Desc, h prometheus.Histogram, labels ...string) prometheus.Metric {
	var now dto.Metric
	if err := h.Write(&now); err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	below := make(map[float64]uint64)
	for _, b := range now.GetHistogram().GetBucket() {
		below[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	return prometheus.MustNewConstHistogram(desc, now.GetHistogram().GetSampleCount(), now.GetHistogram().GetSampleSum(), below, labels...)
}
