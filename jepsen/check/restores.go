package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	// issuedEarly is the time by which IDs may be ahead of the clock, rounded up.
	issuedEarly = int64(20 * time.Millisecond)
	// issuedLate is the time after the announced time within which IDs must be issued, not counting the time for which the machine
	// kept a member from a processor.
	issuedLate = int64(5 * time.Second)
)

// Restores checks the silence after restores, in which no IDs are issued. "snowraft restore" announces its end. Restores
// fails if
//
//   - a process that started after the end of the old cluster issued an ID before the announced time;
//   - no member issued an ID soon after the announced time, although clients requested IDs then;
//   - the announced time leaves no room for the windows of the old cluster and for the offsets of clocks.
//
// Processes that outlive the old cluster may use the windows that they hold. Containment checks that they use no others.
func Restores(r *Run) Verdict {
	v := newVerdict("restore")
	if len(r.Lives) > 0 {
		if err := r.judgeRestores(v); err != nil {
			v.invalid("%v", err)
		}
	}
	v.Summary = fmt.Sprintf("%d restores; first IDs at most %v after the announced time; %d processes issued IDs in a later life",
		v.Facts["restores"], time.Duration(v.Facts["late_ns"]).Round(time.Millisecond), v.Facts["survivors"])
	return *v
}

// silence is the silence after one restore.
type silence struct {
	life   history.Life
	issues int64 // announced time of the first IDs; Unix ns
	first  int64 // first answer of a member with IDs; Unix ns, MaxInt64 for none
	asked  bool  // clients requested IDs of founders soon after issues
	end    int64 // end of the life or of the load; Unix ns
}

func (r *Run) judgeRestores(v *Verdict) error {
	clock := newObservedClock(r)
	room := (r.Header.MaxWindowMillis + 2*r.Header.MaxOffsetMillis) * int64(time.Millisecond)
	all := make([]silence, 0, len(r.Lives))
	for n, l := range r.Lives {
		s := silence{life: l, issues: l.IssuesMillis * int64(time.Millisecond), first: math.MaxInt64, end: clock.wall(r.Phases[history.PhaseEnd])}
		if n+1 < len(r.Lives) {
			s.end = clock.wall(r.Lives[n+1].At)
		}
		all = append(all, s)
		v.Facts["restores"]++
		if said := s.issues - clock.wall(l.At); said < room-issuedEarly {
			v.fail("life %d announced IDs %v after the end of the life before; windows and clocks need %v",
				l.Number, time.Duration(said), time.Duration(room))
		}
	}
	if err := errors.Join(r.firstIDs(v, clock, all), r.askedForIDs(clock, all)); err != nil {
		return err
	}
	for _, s := range all {
		late := s.first - s.issues
		if late > 0 && s.first < math.MaxInt64 {
			issues := s.issues - (clock.wall(s.life.At) - s.life.At) // the moment of the announced time
			late -= r.stalled(issues, issues+late)
		}
		switch {
		case s.first < math.MaxInt64 && late <= issuedLate:
			v.Facts["late_ns"] = max(v.Facts["late_ns"], late)
		case s.end < s.issues+issuedLate:
			v.invalid("life %d ended before it could issue IDs", s.life.Number)
		case !s.asked: // no requests to answer
		case s.first == math.MaxInt64:
			v.fail("life %d issued no ID, expected IDs from %s", s.life.Number, unixMillis(s.issues))
		default:
			v.fail("life %d issued no ID for %v after the announced time, %s", s.life.Number, time.Duration(late), unixMillis(s.issues))
		}
	}
	return nil
}

// firstIDs adds a failure for each ID that was issued too early, and sets the first answer of each life.
func (r *Run) firstIDs(v *Verdict, clock *observedClock, all []silence) error {
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	survivors := map[uint32]bool{}
	for layout, paths := range files {
		for i, err := range readAll(paths) {
			if err != nil {
				return err
			}
			p, ok := r.Process(i.Start)
			if !ok {
				continue
			}
			begun, now := r.lifeAt(p.From), r.lifeAt(i.Call)
			if now > 1 && begun < now && !survivors[i.Start] && clock.wall(i.Call) > all[now-2].issues {
				survivors[i.Start] = true
				v.Facts["survivors"]++
			}
			if begun == 1 {
				continue
			}
			s := &all[begun-2]
			at := clock.wall(i.Return)
			if at < s.issues-issuedEarly {
				v.fail("ID %d of layout %q was issued in life %d, %v before the announced time: %v",
					i.First, layout, begun, time.Duration(s.issues-at), given{r, i})
			}
			if !p.Generator {
				s.first = min(s.first, at)
			}
		}
	}
	return nil
}

// askedForIDs finds the lives in which clients requested IDs of founders soon after the announced time.
func (r *Run) askedForIDs(clock *observedClock, all []silence) error {
	for op, err := range r.Ops() {
		if err != nil {
			return err
		}
		if op.Do != history.DoIDs || !slices.Contains(r.Header.Members, op.Member) {
			continue
		}
		if life := r.lifeAt(op.Call); life > 1 {
			s, at := &all[life-2], clock.wall(op.Call)
			s.asked = s.asked || at > s.issues && at < s.issues+issuedLate
		}
	}
	return nil
}

// unixMillis returns a Unix time in nanoseconds as the time of day, in UTC.
func unixMillis(nanos int64) string { return time.Unix(0, nanos).UTC().Format("15:04:05.000") }
