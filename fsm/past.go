package fsm

import (
	"cmp"
	"slices"
)

// maxJobs is the greatest number of backfill jobs of a layout with more workers than that. Jobs are never forgotten.
const maxJobs = 1 << 16

// past is the past of a layout that has one: the ticks [0, border), which were over when the layout was created.
//
// It keeps the invariants that uniqueness rests on: no window begins below the border; every place that was granted to a job
// lies below its place, which only grows; and a number is that of one job at most, because next only grows. So no cell
// of the past belongs to two jobs, or to a job and a window.
type past struct {
	border int64  // a tick, at least 1
	next   uint64 // number of the next job; the jobs below it that the list lacks are those of earlier clusters
	closed bool   // closed by a restore, which ends all jobs
	jobs   []job  // ascending by number
}

// job is a backfill job: a worker of the past.
type job struct {
	number    uint64 // the worker of its IDs
	holder    string // name as shown: with the token's name in front for an application
	owner     uint64 // ID of the API token that started the job; 0 without one
	created   int64  // Unix ms on the proposer's clock
	place     int64  // the place before which everything was granted
	ended     bool
	extension placing
}

// placing is the last extension of a job, so that a repetition is recognized; zero if there was none.
type placing struct {
	digest [hashBytes]byte
	from   int64 // place at which it began
}

// Past describes the past of a layout.
type Past struct {
	Border  int64  // the first tick after the past
	NextJob uint64 // number of the next job
	Jobs    uint64 // greatest number of jobs
	Closed  bool   // closed by a restore
}

// Backfill is a backfill job of a layout.
type Backfill struct {
	Job           uint64 // number of the job: the worker of its IDs
	Holder        string // name as shown: with the token's name in front for an application
	Owner         uint64 // ID of the API token that started the job; 0 without one
	CreatedMillis int64  // Unix ms on the proposer's clock
	Place         int64  // the place before which everything was granted; see [commandv1.ExtendBackfill]
	Ended         bool   // permanently; also by a restore
}

func (j *job) view() Backfill {
	return Backfill{Job: j.number, Holder: j.holder, Owner: j.owner, CreatedMillis: j.created, Place: j.place, Ended: j.ended}
}

// certainClock returns the greatest observed clock of a state that is certainly in the history of the cluster.
func (s *State) certainClock() int64 { return cmp.Or(s.certain, s.observed) }

// newPast returns the past of a layout that is created at a proposer's now. Its end is the greatest observed clock, so that no
// layout that a backup lacks has an earlier border than one that is created from its state. After a restore, the past therefore
// ends with the observed clock of the backup, and it is closed, because the layout can have had jobs.
func (s *State) newPast(l *layout, now int64) (*past, *Refused) {
	until, threshold := s.highestClock(), s.Config().GetWaitThresholdMs()
	if behind := minus(until, now); behind > threshold {
		return nil, refuseClock(behind, until-threshold, "behind the greatest observed clock, limit %d ms: no window of a layout with a past "+
			"could begin before; create the layout later, or without a past", threshold)
	}
	if s.restored != nil {
		until = min(until, s.restored.GetBackedUpAtMs())
	}
	border := l.layout.TickAt(until)
	if until <= 0 || border < 1 {
		return nil, invalid("layout %q has no past: its epoch is not before the time %d ms, at which the past of a new layout ends; choose an earlier epoch",
			l.name, until)
	}
	return &past{border: min(border, l.ticks), closed: s.restored != nil}, nil
}

// maxJobs returns the greatest number of jobs of the layout.
func (l *layout) maxJobs() uint64 { return min(l.layout.Workers(), maxJobs) }

// Past returns the past of a layout; ok is false if the layout is unknown or has none.
func (s *State) Past(layout string) (p Past, ok bool) {
	l := s.layouts[layout]
	if l == nil || l.past == nil {
		return Past{}, false
	}
	return Past{Border: l.past.border, NextJob: l.past.next, Jobs: l.maxJobs(), Closed: l.past.closed}, true
}

// ClosedPasts returns the number of layouts whose past a restore closed.
func (s *State) ClosedPasts() (n int) {
	for _, l := range s.layouts {
		if l.past != nil && l.past.closed {
			n++
		}
	}
	return n
}

// Backfills returns up to limit backfill jobs of a layout, in ascending order from a number on.
func (s *State) Backfills(layout string, from uint64, limit int) []Backfill {
	l := s.layouts[layout]
	if l == nil || l.past == nil {
		return nil
	}
	var page []Backfill
	at, _ := l.past.search(from)
	for _, j := range l.past.jobs[at:] {
		if len(page) == limit {
			break
		}
		page = append(page, j.view())
	}
	return page
}

// BackfillAt returns the job that a cell of the past was granted to; ok is false if it was granted to none that the state knows.
func (s *State) BackfillAt(layout string, worker uint64, tick int64) (b Backfill, ok bool) {
	l := s.layouts[layout]
	if l == nil || l.past == nil || tick < 0 || tick >= l.past.border {
		return Backfill{}, false
	}
	j, ok := l.past.job(worker)
	if !ok || l.placeOf(tick) >= j.place {
		return Backfill{}, false
	}
	return j.view(), true
}

// placeOf returns the first place of a tick.
func (l *layout) placeOf(tick int64) int64 { return tick * int64(l.layout.Sequences()) }

// search returns the place of a number in the list of jobs.
func (p *past) search(number uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(p.jobs, number, func(j job, n uint64) int { return cmp.Compare(j.number, n) })
}

// job returns the job with a number.
func (p *past) job(number uint64) (*job, bool) {
	at, ok := p.search(number)
	if !ok {
		return nil, false
	}
	return &p.jobs[at], true
}

// clone returns a copy; nil for none.
func (p *past) clone() *past {
	if p == nil {
		return nil
	}
	own := *p
	own.jobs = slices.Clone(p.jobs)
	return &own
}

// voidPast ends all jobs and closes the past: the earlier cluster may have continued them and started more. A layout that was
// created after a time, in Unix ms, may not be in the history of the earlier cluster, which may have created it again earlier. So
// its past ends at that time.
func (l *layout) voidPast(certain int64) {
	p := l.past
	p.closed = true
	if tick := l.layout.TickAt(certain); tick < 1 {
		p.next = l.maxJobs()
	} else {
		p.border = min(p.border, tick)
	}
	for i := range p.jobs {
		j := &p.jobs[i]
		j.ended, j.extension, j.place = true, placing{}, min(j.place, l.placeOf(p.border))
	}
}

// merge covers the past of the same layout in another state. The past of the layout in both ends where that of either ends, because
// windows of either begin there.
func (p *past) merge(other *past) {
	p.border, p.next = min(p.border, other.border), max(p.next, other.next)
	for _, j := range other.jobs {
		if at, ok := p.search(j.number); ok {
			p.jobs[at].place = max(p.jobs[at].place, j.place)
		} else {
			p.jobs = slices.Insert(p.jobs, at, j)
		}
	}
}
