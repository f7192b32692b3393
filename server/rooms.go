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
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/server/kernel"
)

const (
	// nearest is the maximum number of sequences that have a metric of their own, those nearest their end.
	nearest = 20
	// roomsAge is the age from which the list is made again. Making the list reads all sequences.
	roomsAge = 30 * time.Second
)

var (
	descRoom  = kernel.Desc("sequence_remaining_ratio", "Part of a sequence's numbers that can still be granted, for the sequences nearest their end.", "sequence")
	descLeast = kernel.Desc("sequences_remaining_ratio_min", "Least part of its numbers that a sequence with an end can still grant, without exhausted sequences; NaN without such a sequence.")
	descSpent = kernel.Desc("sequences_exhausted", "Sequences with an end that can grant no more numbers now.")
)

// rooms holds the sequences that are nearest their end. It is the collector of the metric that has their names.
type rooms struct {
	member func() *member.Member

	mu    sync.Mutex
	at    int64 // time at which last was made, clock.Reading.Mono in ms
	last  ends  // guarded by mu; the elements never change
	known bool  // last was made
}

// ends holds the sequences that are nearest their end, exhausted ones last, and the number of all exhausted ones. Exhausted
// sequences can be many and stay so, and would hide the sequences whose end can still be moved.
type ends struct {
	near      []room
	exhausted int
}

type room struct {
	name string
	left float64 // 0 to 1
}

// list returns the sequences that are nearest their end, at most 30 s old.
func (r *rooms) list() ends {
	m := r.member()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := m.Clock().Now().Mono
	if r.known && now-r.at < roomsAge.Milliseconds() {
		return r.last
	}
	r.last, r.at, r.known = endsOf(m.State().Listing(), m.State().Observed().Load()), now, true
	return r.last
}

// before orders rooms by what is left, exhausted ones last, then by name.
func (a room) before(b room) int {
	switch {
	case a.left == 0 && b.left > 0:
		return 1
	case b.left == 0 && a.left > 0:
		return -1
	default:
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.name, b.name))
	}
}

// endsOf returns the sequences that are nearest their end at a time, in Unix ms.
func endsOf(all fsm.Listing, at int64) (e ends) {
	type kind struct {
		reset commandv1.SequenceReset
		zone  string
	}
	periods := make(map[kind]int32) // the period of a time zone takes long to compute
	for q := range all.After("", nil) {
		if !q.Bounded {
			continue
		}
		next := room{q.Name, min(float64(q.Remaining)/float64(q.Total), 1)}
		full := len(e.near) == nearest
		if full && next.left > 0 && next.before(e.near[nearest-1]) >= 0 {
			continue
		}
		k := kind{q.Reset, q.TimeZone}
		period, known := periods[k]
		if !known {
			period = member.PeriodAt(q.Reset, q.TimeZone, at)
			periods[k] = period
		}
		if period > q.Period {
			next.left = 1 // the next grant begins another period
		}
		if next.left == 0 {
			e.exhausted++
		}
		if full && next.before(e.near[nearest-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(e.near, next, room.before)
		e.near = slices.Insert(e.near, i, next)
		e.near = e.near[:min(len(e.near), nearest)]
	}
	return e
}

// least returns the smallest remaining part of all sequences with an end that are not exhausted; NaN if there is no such sequence.
func (e ends) least() float64 {
	if len(e.near) > 0 && e.near[0].left > 0 {
		return e.near[0].left
	}
	return math.NaN()
}

// Describe implements prometheus.Collector.
func (*rooms) Describe(ch chan<- *prometheus.Desc) { ch <- descRoom }

// Collect implements prometheus.Collector.
func (r *rooms) Collect(ch chan<- prometheus.Metric) {
	for _, q := range r.list().near {
		ch <- prometheus.MustNewConstMetric(descRoom, prometheus.GaugeValue, q.left, q.name)
	}
}
