package check

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// observedClock relates moments, which are of the monotonic clock, to the observed clock and to the harness's wall
// clock. Its data come from the statuses.
type observedClock struct {
	run   *Run
	walls []wall                      // sorted by moment
	all   []history.Status            // answered statuses, sorted by Return
	own   map[uint32][]history.Status // answered statuses by start, sorted by Return
	first map[uint32]int64            // results of before, by start
	lags  map[int]int64               // results of lag, by fault
}

// wall is a reading of the harness's wall clock, in Unix nanoseconds.
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

// wall returns the harness's wall clock at a moment, in Unix nanoseconds. It uses the reading before or after the moment,
// whichever gives the later time, so that a delayed reading does no harm.
func (o *observedClock) wall(at int64) int64 {
	next := sort.Search(len(o.walls), func(i int) bool { return o.walls[i].at > at })
	base := int64(math.MinInt64)
	for _, w := range o.walls[max(next-1, 0):min(next+1, len(o.walls))] {
		base = max(base, w.nanos-w.at)
	}
	return base + at
}

// atLeast returns a lower bound of the observed clock of a process at all moments between two, in Unix nanoseconds. The
// second result is false if there is no bound. The observed clock only increases, unless an operator lowers it: a lower
// value in a later status therefore lowers the bound.
//
// If known is true, the bound of a member relies on the member's own statuses only. Otherwise, it includes the values
// that any member reported before the process started, which the process may not learn before it has a window.
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

// before returns the highest observed clock that any member reported before a process started, in Unix ms; MinInt64 for none.
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

// after returns the observed clock in the first status that was requested after a moment, in Unix ms; none without such a status.
func after(statuses []history.Status, moment, none int64) int64 {
	for _, s := range statuses[sort.Search(len(statuses), func(i int) bool { return statuses[i].Return > moment }):] {
		if s.Call >= moment {
			return s.ObservedMillis
		}
	}
	return none
}

// generatorLag is the longest time for which a generator's observed clock stands still, with a margin. A generator
// advances it every second, and queries a member in between, which takes at most two seconds.
const generatorLag = int64(3500 * time.Millisecond)

// lag returns the greatest lag of the observed clock behind the harness's clock, in nanoseconds, in the statuses from
// peersRemember before a fault to its end. It is negative if a status of that time has an error or no leader.
// Generators query members, and advance the observed clock themselves in between.
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
