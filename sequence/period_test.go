package sequence_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/sequence"
)

// odd lists zones with unusual days, and some with ordinary days.
var odd = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu",
	"America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo", "America/Asuncion", "America/Havana", // midnight is missing or occurs twice
	"America/St_Johns",                                        // clocks set back to the day before, at 00:01
	"Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati", // a day was skipped
	"Asia/Manila", "America/Juneau", // moved across the date line; great offsets before
	"Antarctica/Troll", "Australia/Lord_Howe", "Africa/Casablanca",
}

// calendar returns the calendar of a reset whose years begin on January 1.
func calendar(r sequence.Reset) sequence.Calendar { return sequence.Calendar{Reset: r} }

// resets lists all resets that have periods.
var resets = []sequence.Reset{
	sequence.ResetDaily, sequence.ResetWeekly, sequence.ResetMonthly, sequence.ResetQuarterly, sequence.ResetYearly,
}

// yearStarts lists the starts of fiscal years in some countries, and the least and the greatest day.
var yearStarts = []sequence.YearStart{0, 401, 406, 701, 1001, 102, 128, 228, 301, 1101, 1228}

func drawCalendar(t *rapid.T) sequence.Calendar {
	return sequence.Calendar{Reset: rapid.SampledFrom(resets).Draw(t, "reset"), YearStarts: rapid.SampledFrom(yearStarts).Draw(t, "years start")}
}

func drawZone(t *rapid.T) *time.Location {
	loc, err := sequence.LoadLocation(rapid.SampledFrom(odd).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func drawTime(t *rapid.T, loc *time.Location) time.Time {
	return rapid.Custom(func(t *rapid.T) time.Time {
		unix := rapid.OneOf(
			rapid.Int64Range(-62_135_000_000, 253_402_000_000), // years 1 to 9999, in every zone
			rapid.Int64Range(-5_000_000_000, 5_000_000_000),    // 1811 to 2128
			rapid.Int64Range(0, 2_000_000_000),
		).Draw(t, "unix")
		return time.Unix(unix, rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(loc)
	}).Draw(t, "time")
}

func TestPeriodAt(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 59, 59, 999_999_999, time.UTC)
	for c, want := range map[sequence.Calendar]sequence.Period{
		{}: 0, {Reset: sequence.ResetDaily}: 2024_02_29, {Reset: sequence.ResetWeekly}: 2024_02_26, {Reset: sequence.ResetMonthly}: 2024_02_01,
		{Reset: sequence.ResetQuarterly}: 2024_01_01, {Reset: sequence.ResetYearly}: 2024_01_01,
		{YearStarts: 401}: 0, {Reset: sequence.ResetDaily, YearStarts: 401}: 2024_02_29, {Reset: sequence.ResetMonthly, YearStarts: 406}: 2024_02_01,
		{Reset: sequence.ResetQuarterly, YearStarts: 401}: 2024_01_01, {Reset: sequence.ResetYearly, YearStarts: 401}: 2023_04_01,
		{Reset: sequence.ResetQuarterly, YearStarts: 406}: 2024_01_06, {Reset: sequence.ResetYearly, YearStarts: 406}: 2023_04_06,
		{Reset: sequence.ResetQuarterly, YearStarts: 228}: 2024_02_28, {Reset: sequence.ResetYearly, YearStarts: 228}: 2024_02_28,
		{Reset: sequence.ResetQuarterly, YearStarts: 1201}: 2023_12_01, {Reset: sequence.ResetYearly, YearStarts: 1201}: 2023_12_01,
	} {
		if got := c.PeriodAt(at); got != want {
			t.Errorf("%+v: %d, want %d", c, got, want)
		}
	}
	if got := calendar(sequence.ResetYearly).PeriodAt(time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC).In(load(t, "Asia/Tokyo"))); got != 2027_01_01 {
		t.Errorf("new year in Tokyo is in %d", got)
	}
	for _, c := range []struct {
		calendar    sequence.Calendar
		first, last sequence.Period
	}{
		{calendar(sequence.ResetDaily), 1_01_01, 9999_12_31},
		{calendar(sequence.ResetWeekly), 1_01_01, 9999_12_27},
		{calendar(sequence.ResetYearly), 1_01_01, 9999_01_01},
		{sequence.Calendar{Reset: sequence.ResetYearly, YearStarts: 401}, 1_04_01, 9999_04_01},
		{sequence.Calendar{Reset: sequence.ResetQuarterly, YearStarts: 406}, 1_01_06, 9999_10_06},
	} {
		for unix, want := range map[int64]sequence.Period{-1 << 62: c.first, -62_135_596_800: c.first, 1 << 55: c.last} {
			if got := c.calendar.PeriodAt(time.Unix(unix, 0).UTC()); got != want {
				t.Errorf("%+v: second %d is in %d, want %d", c.calendar, unix, got, want)
			}
		}
		if end := c.calendar.PeriodEnd(c.last, time.UTC); !end.IsZero() {
			t.Errorf("%+v: the last period %d ends at %v", c.calendar, c.last, end)
		}
	}
}

func TestPeriodValid(t *testing.T) {
	for _, c := range []struct {
		p     sequence.Period
		valid []sequence.Reset
	}{
		{0, []sequence.Reset{sequence.ResetNone}},
		{2024_01_01, []sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly}},
		{2024_02_01, []sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly}},
		{2024_02_29, []sequence.Reset{sequence.ResetDaily}},
		{2023_02_29, nil},
		{2024_13_01, nil},
		{2024_00_01, nil},
		{2024_01_00, nil},
		{2024_04_31, nil},
		{1_01_01, []sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly}},
		{1_01, nil},
		{9999_12_31, []sequence.Reset{sequence.ResetDaily}},
		{10000_01_01, nil},
		{-2024_01_01, nil},
		{1<<31 - 1, nil},
		{-1 << 31, nil},
		{1, nil},
	} {
		for _, r := range []sequence.Reset{sequence.ResetNone, sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly} {
			want := false
			for _, v := range c.valid {
				want = want || v == r
			}
			if got := calendar(r).Valid(c.p); got != want {
				t.Errorf("%d is valid for %v: %v, want %v", c.p, r, got, want)
			}
		}
	}
}

func TestPeriodValidInCalendar(t *testing.T) {
	for _, c := range []struct {
		p     sequence.Period
		reset sequence.Reset
		years sequence.YearStart
		want  bool
	}{
		{2026_11_30, sequence.ResetWeekly, 0, true},
		{2026_12_01, sequence.ResetWeekly, 0, false},
		{2026_11_29, sequence.ResetWeekly, 401, false},
		{2026_02_30, sequence.ResetWeekly, 0, false},
		{2026_04_01, sequence.ResetQuarterly, 0, true},
		{2026_05_01, sequence.ResetQuarterly, 0, false},
		{2026_05_01, sequence.ResetQuarterly, 201, true},
		{2026_04_01, sequence.ResetQuarterly, 201, false},
		{2026_01_06, sequence.ResetQuarterly, 406, true},
		{2026_04_01, sequence.ResetYearly, 401, true},
		{2026_01_01, sequence.ResetYearly, 401, false},
		{2026_04_01, sequence.ResetYearly, 0, false},
	} {
		if got := (sequence.Calendar{Reset: c.reset, YearStarts: c.years}).Valid(c.p); got != c.want {
			t.Errorf("%d is valid for %v from %v on: %v", c.p, c.reset, c.years, got)
		}
	}
}

// The end of a period is known from each of its days: a period may be one of an earlier, shorter reset.
func TestPeriodEndOfDayWithin(t *testing.T) {
	for _, c := range []struct {
		reset sequence.Reset
		years sequence.YearStart
		day   sequence.Period
		want  string
	}{
		{sequence.ResetWeekly, 0, 2026_12_02, "2026-12-07"},
		{sequence.ResetMonthly, 0, 2026_12_02, "2027-01-01"},
		{sequence.ResetQuarterly, 201, 2026_12_02, "2027-02-01"},
		{sequence.ResetYearly, 0, 2026_12_02, "2027-01-01"},
		{sequence.ResetYearly, 401, 2026_03_31, "2026-04-01"},
	} {
		end := sequence.Calendar{Reset: c.reset, YearStarts: c.years}.PeriodEnd(c.day, time.UTC)
		if got := end.Format(time.DateOnly); got != c.want {
			t.Errorf("%v from %v on: %d ends at %s, want %s", c.reset, c.years, c.day, got, c.want)
		}
	}
}

func TestPeriodsOfOddDays(t *testing.T) {
	for _, c := range []struct {
		zone       string
		reset      sequence.Reset
		period     sequence.Period
		start, end string
	}{
		{"UTC", sequence.ResetDaily, 2024_02_29, "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"UTC", sequence.ResetMonthly, 2024_02_01, "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"UTC", sequence.ResetMonthly, 2024_12_01, "2024-12-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"UTC", sequence.ResetYearly, 2024_01_01, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		// Days of 23 and 25 hours.
		{"Europe/Berlin", sequence.ResetDaily, 2026_03_29, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"Europe/Berlin", sequence.ResetDaily, 2026_10_25, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		// A day without midnight, which begins at 01:00. And a midnight that occurs twice, the first time
		// within the day before.
		{"America/Sao_Paulo", sequence.ResetDaily, 2018_11_04, "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", sequence.ResetDaily, 2018_02_17, "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"Asia/Beirut", sequence.ResetDaily, 2022_03_27, "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"},
		{"Asia/Beirut", sequence.ResetDaily, 2022_10_29, "2022-10-28T21:00:00Z", "2022-10-29T22:00:00Z"},
		{"Africa/Cairo", sequence.ResetDaily, 2023_04_28, "2023-04-27T22:00:00Z", "2023-04-28T21:00:00Z"},
		// Midnight occurs twice: clocks are set from 01:00 back to 00:00, within the same day.
		{"America/Havana", sequence.ResetDaily, 2023_11_05, "2023-11-05T04:00:00Z", "2023-11-06T05:00:00Z"},
		// Clocks are set from 00:01 back to 23:01 of the day before: the new day began a minute earlier.
		{"America/St_Johns", sequence.ResetDaily, 2010_11_07, "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		{"America/St_Johns", sequence.ResetDaily, 2010_11_06, "2010-11-06T02:30:00Z", "2010-11-07T02:30:00Z"},
		// A skipped day, and the days around it.
		{"Pacific/Apia", sequence.ResetDaily, 2011_12_29, "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", sequence.ResetDaily, 2011_12_30, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", sequence.ResetDaily, 2011_12_31, "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"Pacific/Apia", sequence.ResetMonthly, 2011_12_01, "2011-12-01T10:00:00Z", "2011-12-31T10:00:00Z"},
		// A year whose last day was skipped.
		{"Pacific/Kiritimati", sequence.ResetYearly, 1994_01_01, "1994-01-01T10:00:00Z", "1994-12-31T10:00:00Z"},
	} {
		loc := load(t, c.zone)
		start, end := c.period.Start(loc), calendar(c.reset).PeriodEnd(c.period, loc)
		if got := start.UTC().Format(time.RFC3339Nano); got != c.start {
			t.Errorf("%s %v %d starts at %s, want %s", c.zone, c.reset, c.period, got, c.start)
		}
		if got := end.UTC().Format(time.RFC3339Nano); got != c.end {
			t.Errorf("%s %v %d ends at %s, want %s", c.zone, c.reset, c.period, got, c.end)
		}
	}
	if !sequence.Period(0).Start(time.UTC).IsZero() || !calendar(sequence.ResetNone).PeriodEnd(0, time.UTC).IsZero() {
		t.Error("no reset, and yet a period that starts or ends")
	}
	if !calendar(sequence.ResetDaily).PeriodEnd(9999_12_31, time.UTC).IsZero() {
		t.Error("the last period ends")
	}
}

// The bounds of a period are exact in every zone: no moment before the start has its date or a later one, and
// the end is the first instant with a later date.
func TestPeriodBounds(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		loc := drawZone(t)
		at := drawTime(t, loc)
		cal := drawCalendar(t)
		p := cal.PeriodAt(at)
		first := p < 2_01_01 && cal.PeriodAt(p.Start(loc).Add(-1)) == p
		if !cal.Valid(p) {
			t.Fatalf("%d is not valid", p)
		}
		if again, err := sequence.ParsePeriod(p.String()); err != nil || again != p {
			t.Fatalf("%d is written %s, which is %d, %v", p, p, again, err)
		}
		start, end := p.Start(loc), cal.PeriodEnd(p, loc)
		if at.Before(start) && !first {
			t.Fatalf("%v is before the start %v", at, start)
		}
		if cal.PeriodAt(start) != p {
			t.Fatalf("%d starts at %v", p, start)
		}
		if before := cal.PeriodAt(start.Add(-1)); before >= p && !first {
			t.Fatalf("%d starts at %v, but %d is before it", p, start, before)
		}
		if end.IsZero() {
			if p < 9999_01_01 {
				t.Fatalf("%d has no end", p)
			}
			return
		}
		if !end.After(start) || cal.PeriodAt(end) <= p || cal.PeriodAt(end.Add(-1)) != p {
			t.Fatalf("%d ends at %v", p, end)
		}
		// From the end on, the next period has begun, though clocks may be set back before the end once.
		if !at.Before(end) && at.Sub(end) > 24*time.Hour {
			t.Fatalf("%v is after the end %v", at, end)
		}
	})
}

func TestClamp(t *testing.T) {
	for _, c := range []struct {
		zone, at string
		reset    sequence.Reset
		period   sequence.Period
		want     string
	}{
		{"UTC", "2026-03-01T12:00:00Z", sequence.ResetDaily, 2026_03_01, "2026-03-01T12:00:00Z"},
		{"UTC", "2026-03-02T00:00:00Z", sequence.ResetDaily, 2026_03_01, "2026-03-01T23:59:59.999999999Z"},
		{"UTC", "2026-02-28T23:00:00Z", sequence.ResetDaily, 2026_03_01, "2026-03-01T00:00:00Z"},
		{"UTC", "2026-02-28T23:00:00Z", sequence.ResetNone, 0, "2026-02-28T23:00:00Z"},
		{"UTC", "2027-02-28T23:00:00Z", sequence.ResetYearly, 2026_01_01, "2026-12-31T23:59:59.999999999Z"},
		{"UTC", "9999-12-31T23:00:00Z", sequence.ResetMonthly, 9999_12_01, "9999-12-31T23:00:00Z"},
		// In the minute of the new day before clocks are set back, in the hour after that, and during the day.
		{"America/St_Johns", "2010-11-07T02:30:30Z", sequence.ResetDaily, 2010_11_06, "2010-11-07T02:29:59.999999999Z"},
		{"America/St_Johns", "2010-11-07T02:31:30Z", sequence.ResetDaily, 2010_11_06, "2010-11-07T02:31:30Z"},
		{"America/St_Johns", "2010-11-07T02:31:30Z", sequence.ResetDaily, 2010_11_07, "2010-11-07T02:30:00Z"},
		// A skipped day.
		{"Pacific/Apia", "2011-12-30T11:00:00Z", sequence.ResetDaily, 2011_12_30, "2011-12-30T12:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got := calendar(c.reset).Clamp(at.In(load(t, c.zone)), c.period)
		if text := got.UTC().Format(time.RFC3339Nano); text != c.want {
			t.Errorf("%s: %s in %d is %s, want %s", c.zone, c.at, c.period, text, c.want)
		}
	}
}

// Years outside of 1 to 9999 must not be written like a year of another period.
func TestClampIntoWritableYears(t *testing.T) {
	for _, c := range []struct {
		year   int
		period sequence.Period
		want   time.Time
	}{
		{10_000, 9999_12_31, time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		{2026 + 1<<28, 2026_05_05, time.Date(2026, 5, 5, 23, 59, 59, 999_999_999, time.UTC)}, // the same year in 32 bits
		{10_000, 9999_12_30, time.Date(9999, 12, 30, 23, 59, 59, 999_999_999, time.UTC)},
		{0, 1_01_01, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{-9, 1_01_02, time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)},
	} {
		at := time.Date(c.year, 5, 5, 0, 0, 0, 0, time.UTC)
		if got := calendar(sequence.ResetDaily).Clamp(at, c.period); !got.Equal(c.want) {
			t.Errorf("%v in %d is %v, want %v", at, c.period, got, c.want)
		}
	}
}

// For any time of the clock, the written date belongs to the number's period.
func TestClampedDatesAreOfThePeriod(t *testing.T) {
	day, err := sequence.ParseFormat("{date:yyyyMMdd}{seq}")
	if err != nil {
		t.Fatal(err)
	}
	seed.Check(t, func(t *rapid.T) {
		loc := drawZone(t)
		cal := drawCalendar(t)
		p := cal.PeriodAt(drawTime(t, drawZone(t)))
		at := time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "unix"), 0).In(loc)
		if rapid.Bool().Draw(t, "near") {
			at = p.Start(loc).Add(time.Duration(rapid.Int64Range(-50, 50).Draw(t, "hours")) * time.Hour)
		}
		got := cal.Clamp(at, p)
		if cal.PeriodAt(got) != p {
			t.Fatalf("%v in %d is %v", at, p, got)
		}
		var number sequence.Period
		for _, c := range day.Append(nil, 0, got)[:8] {
			number = number*10 + sequence.Period(c-'0')
		}
		if back := cal.PeriodAt(time.Date(int(number/10_000), time.Month(number/100%100), int(number%100), 0, 0, 0, 0, time.UTC)); back != p {
			t.Fatalf("%v in %d is written as %d", at, p, number)
		}
		if cal.PeriodAt(at) == p && p > 2_01_01 && at.Year() >= 1 && at.Year() <= 9999 && !got.Equal(at) {
			t.Fatalf("%v is in %d and was moved to %v", at, p, got)
		}
	})
}

func FuzzParsePeriod(f *testing.F) {
	for _, text := range []string{
		"", "2026-03-01", "0001-01-01", "9999-12-31", "2024-02-29",
		"0000-01-01", "2023-02-29", "2026-3-1", "20260301", "2026-03-01 ", "+2026-03-01", "2026-13-01", "2026-03-01T00:00:00Z",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := sequence.ParsePeriod(text)
		switch {
		case err != nil:
			if p != 0 || !errors.Is(err, sequence.ErrInvalidPeriod) {
				t.Errorf("%q: %d, %v", text, p, err)
			}
		case p.String() != text:
			t.Errorf("%q is the period %s", text, p)
		case text == "" && p != 0 || text != "" && !calendar(sequence.ResetDaily).Valid(p):
			t.Errorf("%q is %d", text, p)
		}
	})
}

func TestParsePeriodRefuses(t *testing.T) {
	for _, text := range []string{"0000-01-01", "2023-02-29", "2026-3-1", "20260301", "2026-03-01 ", "2026-00-01", "10000-01-01"} {
		if p, err := sequence.ParsePeriod(text); !errors.Is(err, sequence.ErrInvalidPeriod) {
			t.Errorf("%q is %d, %v", text, p, err)
		}
	}
}
