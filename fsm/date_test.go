package fsm

import (
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestDateMatchesTime(t *testing.T) {
	for at := int64(0); at < 500*365*dayMillis; at += dayMillis + 1 {
		year, month, day := date(at)
		if y, m, d := time.UnixMilli(at).UTC().Date(); int(year) != y || time.Month(month) != m || int(day) != d {
			t.Fatalf("date(%d) = %d-%d-%d, want %d-%d-%d", at, year, month, day, y, m, d)
		}
	}
}

// The state machine's calendars are those of the proposers.
func TestCalendarMatchesProposers(t *testing.T) {
	for _, reset := range []commandv1.SequenceReset{resetNone, resetDaily, resetWeekly, resetMonthly, resetQuarterly, resetYearly} {
		for _, starts := range []uint32{0, 102, 128, 228, 401, 406, 1001, 1201, 1228} {
			c := calendar{uint8(reset), uint16(starts)}
			other := calendarOf(Periods{Reset: reset, YearStarts: starts})
			for at := int64(365 * dayMillis); at < 80*365*dayMillis; at += dayMillis {
				want := int32(other.PeriodAt(time.UnixMilli(at).UTC()))
				if got := c.latestPeriod(at - latestZone); got != want {
					t.Fatalf("the period of %v is %d in %+v, want %d", time.UnixMilli(at).UTC(), got, c, want)
				}
				year, month, day := date(at)
				today := year*10_000 + month*100 + day
				if err := c.checkPeriod(today); (err == nil) != (today == want) && needsDocuments(&commandv1.SequenceSpec{Reset_: reset, YearStarts: starts}) && reset != resetNone {
					t.Fatalf("checkPeriod(%d) = %v in %+v, where %d is a period", today, err, c, want)
				}
			}
		}
	}
}

// A period of a calendar that is as old as DocumentVersion is the first day of one, and a day that there is.
func TestCheckPeriod(t *testing.T) {
	for _, p := range []struct {
		calendar calendar
		period   int32
		valid    bool
	}{
		{calendar{reset: uint8(resetNone)}, 0, true},
		{calendar{reset: uint8(resetNone)}, 20260101, false},
		{calendar{reset: uint8(resetDaily)}, 20260231, true}, // proposer of version 1, which ensures that there is the day
		{calendar{uint8(resetDaily), 401}, 20260231, false},
		{calendar{uint8(resetWeekly), 0}, 20261130, true},
		{calendar{uint8(resetWeekly), 0}, 20261201, false},
		{calendar{uint8(resetWeekly), 0}, 0, false},
		{calendar{uint8(resetWeekly), 0}, 99991227, true},
		{calendar{uint8(resetYearly), 0}, 20260401, true},
		{calendar{uint8(resetYearly), 401}, 20260401, true},
		{calendar{uint8(resetYearly), 401}, 20260101, false},
		{calendar{uint8(resetQuarterly), 406}, 20260106, true},
		{calendar{uint8(resetQuarterly), 406}, 20260101, false},
		{calendar{uint8(resetQuarterly), 406}, -20260106, false},
	} {
		if err := p.calendar.checkPeriod(p.period); (err == nil) != p.valid {
			t.Errorf("%+v: %d is %v", p.calendar, p.period, err)
		}
	}
}

func TestLatestPeriodBeginsFirst(t *testing.T) {
	at := time.Date(2025, 12, 31, 10, 0, 0, 0, time.UTC).UnixMilli()
	latestPeriod := func(r commandv1.SequenceReset, at int64) int32 { return calendar{reset: uint8(r)}.latestPeriod(at) }
	if before, then := latestPeriod(resetDaily, at-1), latestPeriod(resetDaily, at); before != 20251231 || then != 20260101 {
		t.Errorf("latestPeriod() = %d and %d", before, then)
	}
	if month, year := latestPeriod(resetMonthly, at-1), latestPeriod(resetYearly, at-1); month != 20251201 || year != 20250101 {
		t.Errorf("latestPeriod() = %d and %d", month, year)
	}
	if last := latestPeriod(resetDaily, maxFloor); last != 99991231 {
		t.Errorf("latestPeriod() = %d of the last time", last)
	}
}
