package report

import (
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	// mostBuckets is the maximum of buckets of a series.
	mostBuckets = 600
	// finest is the initial width of buckets, which doubles as the length of the run requires.
	finest = 250 * time.Millisecond
	// mostWorkloads is the number of colors for workloads; further workloads share one color.
	mostWorkloads = 8
	// elsewhere is the common name of further workloads and of further reasons.
	elsewhere = "others"
)

// bucket counts the operations that returned in a time range.
type bucket struct {
	ok              [mostWorkloads + 1]uint32 // operations done; indexes of workload
	failed, unknown uint32
	latencies       latencies // latencies of the operations done
}

// series is a run's operations over time, in buckets [zero + i*width, zero + (i+1)*width).
type series struct {
	zero      int64         // start of the run on the history's clock
	width     time.Duration // width of a bucket
	workloads []string
	buckets   []*bucket // up to the last bucket with an operation; an element without operations is nil
}

func newSeries(zero int64) *series { return &series{zero: zero, width: finest} }

// add counts an operation in the bucket of its return. An operation that returned before zero counts in the first bucket.
func (s *series) add(op history.Op) {
	b := s.at(op.Return)
	switch op.Outcome {
	case history.OK:
		b.ok[s.workload(op.Workload)]++
		if op.Return > op.Call { // IDs of wrapped generators are collected, not requested
			b.latencies.add(time.Duration(op.Return - op.Call))
		}
	case history.Fail:
		b.failed++
	default:
		b.unknown++
	}
}

// at returns the bucket of a moment, and widens all buckets if the moment is beyond the last possible one.
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

// index returns the index of a moment's bucket.
func (s *series) index(moment int64) int { return int(max(moment-s.zero, 0) / int64(s.width)) }

// fit widens the buckets until a moment is in one of mostBuckets.
func (s *series) fit(moment int64) {
	for s.index(moment) >= mostBuckets {
		s.widen()
	}
}

// widen doubles the width of the buckets and merges pairs of buckets.
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

// workload returns the index of a workload, in the order of first use; mostWorkloads is the common index of all others.
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

// perSecond converts a count of a bucket to a rate per second.
func (s *series) perSecond(count uint32) float64 { return float64(count) / s.width.Seconds() }
