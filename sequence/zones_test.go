package sequence_test

import (
	_ "embed"

	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/sequence"
)

// zoneNames lists all names of the time zone database.
//
//go:embed testdata/zones.txt
var zoneNames string

// zones returns one name of each set of zones whose clocks were set at the same instants in 2005 to 2038, with these instants.
func zones(t *testing.T) (all map[string][]time.Time) {
	all = map[string][]time.Time{}
	known := map[string]bool{}
	for name := range strings.FieldsSeq(zoneNames) {
		loc := load(t, name)
		var changes []time.Time
		var key strings.Builder
		key.WriteString(time.Date(2005, 1, 1, 0, 0, 0, 0, loc).Format("-07:00:00"))
		for at := time.Date(2005, 1, 1, 0, 0, 0, 0, loc); ; {
			_, end := at.ZoneBounds()
			if end.IsZero() || end.Year() > 2038 {
				break
			}
			at = end
			changes = append(changes, at)
			key.WriteString(at.UTC().Format(time.RFC3339) + at.Format("-07:00:00"))
		}
		if !known[key.String()] {
			known[key.String()], all[name] = true, changes
		}
	}
	return all
}

// all lists the calendars whose periods begin on different days.
func calendars() (all []sequence.Calendar) {
	for _, reset := range resets {
		all = append(all, sequence.Calendar{Reset: reset})
	}
	for _, starts := range []sequence.YearStart{401, 406, 1101} {
		all = append(all, sequence.Calendar{Reset: sequence.ResetQuarterly, YearStarts: starts}, sequence.Calendar{Reset: sequence.ResetYearly, YearStarts: starts})
	}
	return all
}

// The periods of all zones follow each other from 2005 to 2038: each begins at the end of the one before, at the first instant of its
// first day, and contains its first and its last instant.
func TestPeriodsOfAllZones(t *testing.T) {
	t.Parallel()
	for name := range zones(t) {
		loc := load(t, name)
		for _, cal := range calendars() {
			p := cal.PeriodAt(time.Date(2005, 1, 1, 0, 0, 0, 0, loc))
			for p < 2038_12_31 {
				end := cal.PeriodEnd(p, loc)
				next := cal.PeriodAt(end)
				if next <= p || cal.PeriodAt(end.Add(-1)) > p {
					t.Fatalf("%s: %d of %+v ends at %v, which is in %d", name, p, cal, end, next)
				}
				if start := next.Start(loc); start.After(end) || next == following(cal, p) && !start.Equal(end) {
					t.Fatalf("%s: %d of %+v ends at %v, and %d begins at %v", name, p, cal, end, next, start)
				}
				if next != following(cal, p) && !skipped(cal, following(cal, p), loc) {
					t.Fatalf("%s: %d follows %d of %+v", name, next, p, cal)
				}
				p = next
			}
		}
	}
}

// following returns the period after p on the calendar of UTC.
func following(cal sequence.Calendar, p sequence.Period) sequence.Period {
	return cal.PeriodAt(cal.PeriodEnd(p, time.UTC))
}

// skipped reports whether a location has no moment of a period.
func skipped(cal sequence.Calendar, p sequence.Period, loc *time.Location) bool {
	return cal.PeriodEnd(p, loc).Equal(p.Start(loc))
}

// When clocks are set back across the beginning of a period, an hour repeats in which the earlier period seems to be the present one
// again. The period that has begun continues: its first instant is before that hour, and the dates in its texts are dates of it.
func TestRepeatedHourContinuesItsPeriod(t *testing.T) {
	t.Parallel()
	repeated := map[sequence.Reset]int{}
	for name, changes := range zones(t) {
		loc := load(t, name)
		for _, cal := range calendars() {
			for _, change := range changes {
				before, after := cal.PeriodAt(change.Add(-1)), cal.PeriodAt(change)
				if after >= before {
					continue
				}
				repeated[cal.Reset]++
				end := cal.PeriodEnd(after, loc)
				if !end.Before(change) || !end.Equal(before.Start(loc)) {
					t.Fatalf("%s: %d of %+v ends at %v, and at %v clocks are set back into it", name, after, cal, end, change)
				}
				for _, at := range []time.Time{change, change.Add(time.Minute)} {
					if got := cal.Clamp(at, before); cal.PeriodAt(got) != before || !got.Equal(end) {
						t.Fatalf("%s: %v in %d of %+v is written as %v", name, at, before, cal, got)
					}
				}
			}
		}
	}
	for _, reset := range []sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetQuarterly, sequence.ResetYearly} {
		if repeated[reset] == 0 {
			t.Errorf("no hour repeats at the beginning of a period with the reset %v", reset)
		}
	}
}
