package sequence

import (
	"errors"
	"testing"
)

func TestReadPeriod(t *testing.T) {
	t.Parallel()
	april := func(r Reset) Calendar { return Calendar{Reset: r, YearStarts: 401} }
	plain := func(r Reset) Calendar { return Calendar{Reset: r} }
	for _, test := range []struct {
		calendar Calendar
		text     string
		want     Period // 0: refused
	}{
		{plain(ResetDaily), "2026-10-05", 20261005},
		{plain(ResetWeekly), "2026-W41", 20261005},
		{plain(ResetWeekly), "2026-10-05", 20261005},
		{plain(ResetWeekly), "2026-W53", 20261228},
		{plain(ResetWeekly), "2026-W01", 20251229},
		{plain(ResetMonthly), "2026-10", 20261001},
		{plain(ResetMonthly), "2026-10-01", 20261001},
		{plain(ResetQuarterly), "2026-Q3", 20260701},
		{plain(ResetYearly), "2026", 20260101},
		{plain(ResetYearly), "2026-01-01", 20260101},
		{april(ResetYearly), "FY2027", 20260401},
		{april(ResetYearly), "2026-04-01", 20260401},
		{april(ResetQuarterly), "FY2027-Q4", 20270101},
		{april(ResetQuarterly), "2027-01-01", 20270101},
		{april(ResetMonthly), "2026-10", 20261001},
		{plain(ResetDaily), "2026-10", 0},
		{plain(ResetDaily), "2026-02-30", 0},
		{plain(ResetWeekly), "2025-W53", 0},
		{plain(ResetWeekly), "2026-W00", 0},
		{plain(ResetWeekly), "2026-10-06", 0},
		{plain(ResetMonthly), "2026-10-02", 0},
		{plain(ResetMonthly), "2026-13", 0},
		{plain(ResetMonthly), "FY2026-10", 0},
		{plain(ResetMonthly), "202610-", 0},
		{plain(ResetQuarterly), "2026-Q5", 0},
		{plain(ResetQuarterly), "FY2026-Q1", 0},
		{plain(ResetYearly), "FY2026", 0},
		{plain(ResetYearly), "2026-", 0},
		{plain(ResetYearly), "2026-10", 0},
		{plain(ResetYearly), "0000", 0},
		{april(ResetYearly), "2027", 0},
		{april(ResetQuarterly), "2027-Q1", 0},
		{april(ResetYearly), "2026-01-01", 0},
		{plain(ResetMonthly), "", 0},
		{plain(ResetNone), "", 0},
		{plain(ResetNone), "2026-10-01", 0},
		{plain(ResetYearly), "+026", 0},
	} {
		got, err := test.calendar.ReadPeriod(test.text)
		if got != test.want || (err == nil) != (test.want != 0) || err != nil && !errors.Is(err, ErrInvalidPeriod) {
			t.Errorf("%+v: ReadPeriod(%q) = %d, %v, want %d", test.calendar, test.text, got, err, test.want)
		}
	}
}

func FuzzReadPeriod(f *testing.F) {
	for _, text := range []string{"2026-10-05", "2026-W41", "2026-10", "2026-Q3", "FY2027", "FY2027-Q4", "2026"} {
		f.Add(text, uint8(1), uint16(401))
	}
	f.Fuzz(func(t *testing.T, text string, reset uint8, starts uint16) {
		c := Calendar{Reset: Reset(reset % 6)}
		if starts%2 == 0 {
			c.YearStarts = 401
		}
		p, err := c.ReadPeriod(text)
		if err == nil && (!c.Valid(p) || p == 0) {
			t.Errorf("%+v: ReadPeriod(%q) = %d, which is not a period", c, text, p)
		}
	})
}
