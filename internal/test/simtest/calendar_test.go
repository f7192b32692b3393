package simtest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/sequence"
)

const (
	daily     = commandv1.SequenceReset_SEQUENCE_RESET_DAILY
	weekly    = commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY
	monthly   = commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY
	quarterly = commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY
	yearly    = commandv1.SequenceReset_SEQUENCE_RESET_YEARLY
)

// zones lists the time zones of the calendar. Berlin and Beirut end daylight saving time on 25 October 2026, Beirut at a
// midnight, which therefore does not occur. New York ends it on 1 November. India's offset has half an hour.
var zones = []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Beirut"}

// resetting returns a relaxed and a strict daily sequence in each zone, and some sequences with longer periods.
func resetting() (all []rules) {
	add := func(mode commandv1.SequenceMode, reset commandv1.SequenceReset, zone, format string) {
		spec := plain(strings.ToLower(zone+"/"+reset.String()+"/"+mode.String()), mode)
		spec.Start, spec.Reset_, spec.TimeZone, spec.Format = 7, reset, zone, format
		all = append(all, rules{spec: spec})
	}
	for _, mode := range []commandv1.SequenceMode{relaxed, strict} {
		for _, zone := range zones {
			add(mode, daily, zone, "{date:yyyyMMdd}-{seq:05}")
		}
		add(mode, monthly, zones[0], "{date:yyyyMM}/{date:dd}-{seq}")
		add(mode, yearly, zones[1], "{date:yyyy}-{seq:base62}")
		// Weeks, quarters and years that begin on the days of the simulation.
		add(mode, weekly, zones[0], "{date:yyyyMMdd}-{weekyear}{week}-{seq}")
		add(mode, quarterly, zones[1], "{date:yyyyMMdd}-{fy}{quarter}-{seq}")
		all[len(all)-1].spec.YearStarts = 126
		add(mode, yearly, zones[2], "{date:yyyyMMdd}-{fy:yyyy-yy}-{seq}")
		all[len(all)-1].spec.YearStarts = 1026
	}
	return all
}

// calendar is the true time of a simulation with set clocks. It checks periods.
type calendar struct {
	ahead  atomic.Int64 // offset from the bubble's time
	behind atomic.Int64 // the same, raised only after all clocks are
	lag    atomic.Int64 // greatest delay of a period's beginning; all are a time.Duration
}

// jump moves all clocks forward. Requests in progress, and those that begin meanwhile, may be answered at either time.
func (w *world) jump(gap time.Duration) {
	c := &w.numbers.calendar
	ahead := c.ahead.Add(int64(gap))
	w.setClocks(time.Duration(ahead))
	c.behind.Store(ahead)
}

// least returns the earliest time that a clock without an error may show.
func (c *calendar) least(t time.Time) time.Time { return t.Add(time.Duration(c.behind.Load())) }

func (c *calendar) of(t time.Time) time.Time { return t.Add(time.Duration(c.ahead.Load())) }

var resets = map[commandv1.SequenceReset]sequence.Reset{daily: sequence.ResetDaily, weekly: sequence.ResetWeekly, monthly: sequence.ResetMonthly, quarterly: sequence.ResetQuarterly, yearly: sequence.ResetYearly}

// period returns the period of a resetting sequence at a true time.
func (r *rules) period(t time.Time) int32 {
	location, err := time.LoadLocation(r.spec.GetTimeZone())
	if err != nil {
		return -1
	}
	return r.periodIn(t.In(location))
}

// periodIn returns the period of a resetting sequence that contains a time in its time zone.
func (r *rules) periodIn(t time.Time) int32 {
	calendar := sequence.Calendar{Reset: resets[r.spec.GetReset_()], YearStarts: sequence.YearStart(r.spec.GetYearStarts())}
	return int32(calendar.PeriodAt(t))
}

// timely checks that an answer belongs to the correct period, and its text to the same period.
func (s *series) timely(by string, a asked, n member.Numbering) {
	if _, resets := resets[s.spec.GetReset_()]; !resets {
		return
	}
	const mayBeAhead = 500 * time.Millisecond
	oldest := s.period(a.least.Add(-time.Duration(s.calendar.lag.Load())))
	newest := s.period(s.calendar.of(time.Now()).Add(mayBeAhead))
	if n.Period < oldest || n.Period > newest {
		s.fault("%s issued %d of %s in period %d, want %d to %d", by, n.First, s.spec.GetName(), n.Period, oldest, newest)
	}
	date := strconv.Itoa(int(n.Period))
	significant := map[commandv1.SequenceReset]int{daily: 8, monthly: 6, yearly: 4}[s.spec.GetReset_()]
	for _, index := range []uint64{0, n.Count - 1} {
		if strings.HasPrefix(s.spec.GetFormat(), "{date:yyyyMMdd}-") {
			day, err := time.Parse("20060102", string(n.Append(nil, index))[:8])
			if err != nil || s.periodIn(day) != n.Period {
				s.fault("%s issued the text %s of %s in period %d", by, n.Append(nil, index), s.spec.GetName(), n.Period)
			}
			continue
		}
		if text := string(n.Append(nil, index)); text[:significant] != date[:significant] {
			s.fault("%s issued the text %s of %s in period %d", by, text, s.spec.GetName(), n.Period)
		}
	}
}

// moments returns, in order, the midnights of all zones on some days, those of the next New Year, and the clock changes
// in between.
func moments(t *testing.T, days int) (all []time.Time) {
	for _, zone := range zones {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for day := range days {
			all = append(all, time.Date(2026, 10, 25+day, 0, 0, 0, 0, location))
		}
		all = append(all, time.Date(2027, 1, 1, 0, 0, 0, 0, location))
	}
	all = append(all, time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC))
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// The simulation has a week of midnights, with a fault at most of them.
func TestPeriodsBeginAnew(t *testing.T) {
	t.Parallel()
	simulate(t, autumn, func(w *world) { w.midnights() })
}

// autumn is a cluster with resetting sequences. It begins on the day before a clock change.
var autumn = options{
	idle: true, sequences: resetting(), day: time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC),
}

func (w *world) midnights() {
	w.Helper()
	w.numbers.calendar.lag.Store(int64(2 * time.Second))
	begun, exact := 0, 0
	for i, moment := range moments(w.T, depth.Of(2, 8)) {
		w.skipTo(moment.Add(-4 * time.Second))
		kind := i % 12 // every kind, at every zone's midnight
		w.midnight(kind, moment)
		for _, r := range w.sequences {
			s, period := w.numbers.of(r.spec.GetName()), r.period(moment)
			if period == r.period(moment.Add(-time.Second)) {
				continue
			}
			w.until(2*recovery, "a period has begun", func() bool { return s.begun(period) })
			lowest := s.lowestOf(period)
			w.log.logger("test").Info("a period began", "sequence", r.spec.GetName(), "period", period, "kind", kind, "lowest", lowest)
			begun++
			if lowest == 0 {
				exact++
			}
			// Lost answers may have contained the first numbers.
			if lowest < 0 || lowest > lost || kind == quiet && lowest > 0 {
				w.audit.fault("period %d of %s began %d after the start", period, r.spec.GetName(), lowest)
			}
		}
		w.exceed(moment)
	}
	w.Logf("%d periods began, %d of them with their first number", begun, exact)
	if exact < begun*2/3 {
		w.Errorf("%d of %d periods began with their first number, want at least two thirds", exact, begun)
	}
}

const (
	quiet = 0
	// lost is the limit of the numbers that are lost at the beginning of a period.
	lost = 3000
)

// skipTo lets time pass quickly: it stops the members, or sets all clocks at once.
func (w *world) skipTo(t time.Time) {
	w.Helper()
	c := &w.numbers.calendar
	const settle = 15 * time.Second // until all members issue again
	if gap := t.Sub(c.of(time.Now())) - settle; gap > 0 {
		switch w.rng.IntN(3) {
		case 0:
			for _, n := range w.live() {
				_ = n.stop() // the last members cannot return blocks
			}
			w.sleep(gap)
		case 1:
			w.crashAll()
			w.sleep(gap)
		case 2:
			w.numbers.forget()
			w.audit.mayBeAhead.Add(int64(gap))
			w.jump(gap)
		}
		w.startAll()
	}
	w.untilAllIssue(settle)
	w.pass(t.Sub(c.of(time.Now())))
}

// sleep lets time pass while no member runs, which takes no real time.
func (w *world) sleep(d time.Duration) {
	w.stopWatching()
	w.pass(d)
	w.stopWatching = w.watchClocks()
}

// midnight causes a fault at a moment, and waits for the recovery.
func (w *world) midnight(kind int, moment time.Time) {
	w.Helper()
	c := &w.numbers.calendar
	at := func(early, late time.Duration) {
		w.pass(moment.Add(w.between(early, late)).Sub(c.of(time.Now())))
	}
	right := time.Duration(c.ahead.Load())
	until := 8 * time.Second
	set := func(n *node, ahead time.Duration) { n.clock.set(right + ahead) }
	hours := -w.between(time.Minute, 3*time.Hour)
	if w.rng.IntN(2) == 0 {
		hours = -w.between(5*time.Second, time.Minute)
	}
	switch kind {
	case quiet:
	case 1:
		at(-200*time.Millisecond, 200*time.Millisecond)
		_, _ = w.leader().proc().member.Node().TransferLeadership(w.Context(), "")
	case 2:
		at(-300*time.Millisecond, 300*time.Millisecond)
		w.leader().crash()
	case 3, 4: // the leader stays the leader
		at(0, 400*time.Millisecond)
		set(w.leader(), -w.between(100*time.Millisecond, 400*time.Millisecond))
	case 5, 6: // the leader changes
		c.lag.Store(int64(10 * time.Second))
		at(0, 2*time.Second)
		set(w.leader(), hours)
		until = 20 * time.Second
	case 7: // a follower issues yesterday's numbers until the others correct it
		c.lag.Store(int64(10 * time.Second))
		at(-time.Second, time.Second)
		set(w.follower(), hours)
		until = 20 * time.Second
	case 8:
		c.lag.Store(int64(2*time.Second - hours))
		at(0, 2*time.Second)
		for _, n := range w.nodes {
			set(n, hours)
		}
	case 9:
		at(-2*time.Second, time.Second)
		w.partition()
	case 10:
		at(-500*time.Millisecond, 500*time.Millisecond)
		w.crashAll()
		w.startAll()
	case 11:
		for _, n := range w.nodes {
			set(n, w.between(-240*time.Millisecond, 240*time.Millisecond))
		}
	}
	w.pass(moment.Add(until).Sub(c.of(time.Now())))
	w.net.heal()
	for _, n := range w.nodes {
		if n.clock.ahead() != right {
			set(n, 0)
		}
	}
	w.startAll()
	w.untilAllIssue(3 * recovery)
	w.pass(2 * time.Second)
	c.lag.Store(int64(2 * time.Second))
}

// exceed issues so many numbers of each sequence whose period began that numbers of the next period
// would reveal a missing reset.
func (w *world) exceed(moment time.Time) {
	w.Helper()
	for _, r := range w.sequences {
		if r.period(moment) == r.period(moment.Add(-time.Second)) {
			continue
		}
		s := w.numbers.of(r.spec.GetName())
		w.until(recovery, "many numbers are issued", func() bool {
			p := w.leader().proc()
			ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
			defer cancel()
			a := s.ask(position{})
			n, err := p.next(ctx, s, 2*lost, "")
			if err == nil {
				s.give(p.name, a, n)
			}
			return err == nil
		})
	}
}

// begun reports whether numbers of a period were issued. lowestOf returns the distance of the lowest one from
// the start.
func (s *series) begun(period int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, some := s.lowest[period]
	return some
}

func (s *series) lowestOf(period int32) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lowest[period]
}

// forget excludes the earlier answers to requests with an ID from comparisons.
func (n *numbers) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.series {
		for _, r := range s.requests {
			r.forgotten = true
		}
		s.requests = nil
	}
}
