package kernel

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bounds holds the upper bounds of a histogram's buckets. The last bucket has no bound.
var bounds = func() (all [10]time.Duration) {
	bound := 10 * time.Microsecond
	for i := range all {
		all[i], bound = bound, 4*bound
	}
	return all
}()

// histogram counts durations. Prometheus's histogram counts one at a time, while all commands of a Redis pipeline are
// answered at once.
type histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64 // not cumulative
	nanos   atomic.Int64                   // sum
}

// observe counts n durations of took each.
func (h *histogram) observe(n uint64, took time.Duration) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	h.buckets[i].Add(n)
	h.nanos.Add(int64(n) * int64(took)) //nolint:gosec // few observations
}

// metric returns the durations so far; nil without any. Their sum may omit durations that are counted at the same time.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	below := make(map[float64]uint64, len(bounds))
	var count uint64
	for i := range h.buckets {
		count += h.buckets[i].Load()
		if i < len(bounds) {
			below[float64(bounds[i])/1e9] = count // Seconds would round twice
		}
	}
	if count == 0 {
		return nil
	}
	return prometheus.MustNewConstHistogram(desc, count, float64(h.nanos.Load())/1e9, below, labels...)
}
