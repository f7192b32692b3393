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
	// nearest is the maximum number of sequences that have a metric of their own, those nearest their end.
	nearest = 20
	// roomsAge is the age from which the list is made again. Making the list reads all sequences.
	roomsAge = 30 * time.Second
)

var (
	descRoom  = frontend.Desc("sequence_remaining_ratio", "Part of a sequence's numbers that can still be granted, for the sequences nearest their end.", "sequence")
	descLeast = frontend.Desc("sequences_remaining_ratio_min", "Least part of its numbers that any sequence with an end can still grant; NaN without such a sequence.")
)

// rooms holds the sequences that are nearest their end. It is the collector of the metric that has their names.
type rooms struct {
	member func() *member.Member

	mu    sync.Mutex
	at    int64  // time at which near was made, clock.Reading.Mono in ms
	near  []room // guarded by mu; the elements never change
	known bool   // near was made
}

type room struct {
	name string
	left float64 // 0 to 1
}

// list returns the sequences that are nearest their end, nearest first.
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

// least returns the smallest remaining part of all sequences with an end; NaN if there is no such sequence.
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
