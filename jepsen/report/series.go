package report

import (
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	// mostBuckets bounds how many points a series has.
	mostBuckets = 600
	// finest is the width of buckets at first; it is doubled as often as the run's length needs.
	finest = 250 * time.Millisecond
	// mostWorkloads is the greatest number of workloads with colors of their own; the others share one.
	mostWorkloads = 8
	// elsewhere is the name of what isn't told apart.
	elsewhere = "others"
)

// bucket is what was answered in a stretch of time.
type bucket struct {
	ok              [mostWorkloads + 1]uint32 // by workload
	failed, unknown uint32
	latencies       latencies // of what was done
}

// series is a run's operations over time, in buckets [zero + i*width, zero + (i+1)*width).
type series struct {
	zero      int64 // on the history's clock
	width     time.Duration
	workloads []string
	buckets   []*bucket // up to the last one that has anything; nil if nothing was answered
}

func newSeries(zero int64) *series { return &series{zero: zero, width: finest} }

// add counts an operation when it returned. One from before zero counts in the first bucket.
func (s *series) add(op history.Op) {
	b := s.at(op.Return)
	switch op.Outcome {
	case history.OK:
		b.ok[s.workload(op.Workload)]++
		b.latencies.add(time.Duration(op.Return - op.Call))
	case history.Fail:
		b.failed++
	default:
		b.unknown++
	}
}

// at is the bucket of a moment. If that is beyond the last one possible, buckets become wider.
func (s *series) at(moment int64) *bucket {
	s.fit(moment)
	i := s.index(moment)
	if i >= len(s.buckets) {
		s.buckets = append(s.buckets, make([]*bucket, i+1-len(s.buckets))...)
	}
	if s.buckets[i] == nil {
		s.buckets[i] = new(bucket)
	}
	return s.buckets[i]
}

// index is the number of a moment's bucket.
func (s *series) index(moment int64) int { return int(max(moment-s.zero, 0) / int64(s.width)) }

// fit makes buckets so wide that a moment has one.
func (s *series) fit(moment int64) {
	for s.index(moment) >= mostBuckets {
		s.widen()
	}
}

// widen makes one bucket of two.
func (s *series) widen() {
	s.width *= 2
	half := (len(s.buckets) + 1) / 2
	for i := range half {
		merged := s.buckets[2*i]
		if 2*i+1 < len(s.buckets) {
			merged = merge(merged, s.buckets[2*i+1])
		}
		s.buckets[i] = merged
	}
	clear(s.buckets[half:])
	s.buckets = s.buckets[:half]
}

func merge(a, b *bucket) *bucket {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	for i := range a.ok {
		a.ok[i] += b.ok[i]
	}
	a.failed += b.failed
	a.unknown += b.unknown
	a.latencies.merge(&b.latencies)
	return a
}

// workload numbers a workload, in the order in which they come up.
func (s *series) workload(name string) int {
	i := slices.Index(s.workloads, name)
	if i >= 0 {
		return i
	}
	if len(s.workloads) == mostWorkloads {
		s.workloads = append(s.workloads, elsewhere)
	}
	if len(s.workloads) > mostWorkloads {
		return mostWorkloads
	}
	s.workloads = append(s.workloads, name)
	return len(s.workloads) - 1
}

// perSecond is a count of a bucket as a rate.
func (s *series) perSecond(count uint32) float64 { return float64(count) / s.width.Seconds() }
