package fsm

import (
	"testing"
	"time"
)

func TestDateMatchesTime(t *testing.T) {
	for at := int64(0); at < 500*365*dayMillis; at += dayMillis + 1 {
		year, month, day := date(at)
		if y, m, d := time.UnixMilli(at).UTC().Date(); int(year) != y || time.Month(month) != m || int(day) != d {
			t.Fatalf("date(%d) = %d-%d-%d, want %d-%d-%d", at, year, month, day, y, m, d)
		}
	}
}

func TestLatestPeriodBeginsFirst(t *testing.T) {
	at := time.Date(2025, 12, 31, 10, 0, 0, 0, time.UTC).UnixMilli()
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
