package check

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// observedClock is what the history shows of the observed clock and of the harness's own: from
// the statuses, because all times here are of the monotonic clock.
type observedClock struct {
	run   *Run
	walls []wall
	all   []history.Status // that were answered, by Return
	own   map[uint32][]history.Status
	first map[uint32]int64 // by start, see before
	lags  map[int]int64    // by fault, see lag
}

// wall is the harness's clock at a moment.
type wall struct{ at, nanos int64 }

func newObservedClock(r *Run) *observedClock {
	o := &observedClock{
		run: r, walls: []wall{{r.Header.At, r.Header.WallNanos}},
		own: make(map[uint32][]history.Status), first: make(map[uint32]int64), lags: make(map[int]int64),
	}
	for _, s := range r.Statuses {
		o.walls = append(o.walls, wall{s.Return, s.WallNanos})
		if s.Error == "" {
			o.all = append(o.all, s)
		}
	}
	slices.SortFunc(o.walls, func(a, b wall) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(o.all, func(a, b history.Status) int { return cmp.Compare(a.Return, b.Return) })
	for _, s := range o.all {
		o.own[s.Start] = append(o.own[s.Start], s)
	}
	return o
}

// wall is the harness's wall clock at a moment, in nanoseconds: by the reading before or the one
// after it, whichever gives the later time, so that a reading that was held up is no harm.
func (o *observedClock) wall(at int64) int64 {
	next := sort.Search(len(o.walls), func(i int) bool { return o.walls[i].at > at })
	base := int64(math.MinInt64)
	for _, w := range o.walls[max(next-1, 0):min(next+1, len(o.walls))] {
		base = max(base, w.nanos-w.at)
	}
	return base + at
}

// atLeast is what a process surely knew of the observed clock at any moment between two, in
// nanoseconds. It only grows, unless an operator lowers it: so what was said afterwards counts if
// that is less. known leaves out what was known to the cluster, which the process need not know
// before it has a window.
func (o *observedClock) atLeast(s skew, from, to int64, known bool) (int64, bool) {
	p, ok := o.run.Process(s.start)
	if !ok {
		return 0, false
	}
	if p.Generator {
		lag := o.lag(s)
		return o.wall(from) - lag - generatorLag, lag >= 0 && p.From < o.run.Faults[s.fault].From-peersRemember
	}
	own := o.own[s.start]
	observed := int64(math.MinInt64)
	if n := sort.Search(len(own), func(i int) bool { return own[i].Return > from }); n > 0 {
		observed = own[n-1].ObservedMillis
	}
	if !known {
		observed = max(observed, o.before(p))
	}
	if observed == math.MinInt64 {
		return 0, false
	}
	observed = min(observed, after(own, to, observed))
	return min(observed, after(o.all, to, observed)) * int64(time.Millisecond), true
}

// before is the observed clock that any member had shown before a process started.
func (o *observedClock) before(p ProcessSpan) int64 {
	observed, ok := o.first[p.Start]
	if !ok {
		observed = math.MinInt64
		for _, s := range o.all[:sort.Search(len(o.all), func(i int) bool { return o.all[i].Return > p.From })] {
			observed = max(observed, s.ObservedMillis)
		}
		o.first[p.Start] = observed
	}
	return observed
}

// after is the observed clock in the first status that was requested after a moment, or none.
func after(statuses []history.Status, moment, none int64) int64 {
	for _, s := range statuses[sort.Search(len(statuses), func(i int) bool { return statuses[i].Return > moment }):] {
		if s.Call >= moment {
			return s.ObservedMillis
		}
	}
	return none
}

// generatorLag is for how long a generator does not move its observed clock on: it does so each
// second, and asking a member, which it does in between, takes two at most.
const generatorLag = int64(3500 * time.Millisecond)

// lag is by how much at most the observed clock was behind the harness's clock, in what members
// said from some time before a fault to its end; negative if any of them had no leader or did not
// answer. Generators query members, and let the observed clock go on in between.
func (o *observedClock) lag(s skew) int64 {
	if lag, ok := o.lags[s.fault]; ok {
		return lag
	}
	lag, f := int64(-1), o.run.Faults[s.fault]
	for _, status := range o.run.Statuses {
		if status.Return < f.From-peersRemember || status.Call > f.To {
			continue
		}
		if status.Error != "" || status.LeaderID == "" {
			lag = -1
			break
		}
		lag = max(lag, status.WallNanos-status.ObservedMillis*int64(time.Millisecond), 0)
	}
	o.lags[s.fault] = lag
	return lag
}
