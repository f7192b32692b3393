package server

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/server/frontend"
)

const (
	// nearest bounds the sequences that have a metric of their own: those nearest their end.
	nearest = 20
	// roomsAge is the greatest age of the list that is exported. Making it reads all sequences.
	roomsAge = 30 * time.Second
)

var (
	descRoom  = frontend.Desc("sequence_remaining_ratio", "Part of a sequence's numbers that can still be granted, for the sequences nearest their end.", "sequence")
	descLeast = frontend.Desc("sequences_remaining_ratio_min", "Least part of its numbers that any sequence with an end can still grant; NaN without such a sequence.")
)

// rooms knows the sequences that are nearest their end. Its collector is that of the metric with their names.
type rooms struct {
	member func() *member.Member

	mu    sync.Mutex
	at    int64  // as clock.Reading counts Mono; when near was made
	near  []room // guarded by mu, the slice is never changed
	known bool   // near was made
}

type room struct {
	name string
	left float64 // 0 to 1
}

// list returns the sequences that are nearest their end, the nearest first.
func (r *rooms) list() []room {
	m := r.member()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := m.Clock().Now().Mono
	if r.known && now-r.at < roomsAge.Milliseconds() {
		return r.near
	}
	r.near, r.at, r.known = nearestOf(m.State().Listing(), m.State().Observed().Load()), now, true
	return r.near
}

// nearestOf returns the sequences that are nearest their end at a time, in Unix ms.
func nearestOf(all fsm.Listing, at int64) []room {
	var near []room
	order := func(a, b room) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.name, b.name)) }
	for q := range all.After("", nil) {
		if !q.Bounded {
			continue
		}
		next := room{q.Name, min(float64(q.Remaining)/float64(q.Total), 1)}
		if len(near) == nearest && order(next, near[nearest-1]) >= 0 {
			continue
		}
		if member.PeriodAt(q.Reset, q.TimeZone, at) > q.Period {
			next.left = 1 // the next grant begins another period
		}
		i, _ := slices.BinarySearchFunc(near, next, order)
		near = slices.Insert(near, i, next)
		near = near[:min(len(near), nearest)]
	}
	return near
}

// least returns the least part that is left of a sequence with an end; NaN without one.
func (r *rooms) least() float64 {
	if near := r.list(); len(near) > 0 {
		return near[0].left
	}
	return math.NaN()
}

// Describe implements prometheus.Collector.
func (*rooms) Describe(ch chan<- *prometheus.Desc) { ch <- descRoom }

// Collect implements prometheus.Collector.
func (r *rooms) Collect(ch chan<- prometheus.Metric) {
	for _, q := range r.list() {
		ch <- prometheus.MustNewConstMetric(descRoom, prometheus.GaugeValue, q.left, q.name)
	}
}
