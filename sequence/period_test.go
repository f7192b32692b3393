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
	for reset, want := range map[sequence.Reset]sequence.Period{
		sequence.ResetNone: 0, sequence.ResetDaily: 2024_02_29, sequence.ResetMonthly: 2024_02_01, sequence.ResetYearly: 2024_01_01,
	} {
		if got := sequence.PeriodAt(reset, at); got != want {
			t.Errorf("%v: %d, want %d", reset, got, want)
		}
	}
	if got := sequence.PeriodAt(sequence.ResetYearly, time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC).In(load(t, "Asia/Tokyo"))); got != 2027_01_01 {
		t.Errorf("new year in Tokyo is in %d", got)
	}
	for unix, want := range map[int64]sequence.Period{-1 << 62: 1_01_01, 1 << 55: 9999_12_31} {
		if got := sequence.PeriodAt(sequence.ResetDaily, time.Unix(unix, 0).UTC()); got != want {
			t.Errorf("second %d is in %d, want %d", unix, got, want)
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
		for r := sequence.ResetNone; r <= sequence.ResetYearly; r++ {
			want := false
			for _, v := range c.valid {
				want = want || v == r
			}
			if got := c.p.Valid(r); got != want {
				t.Errorf("%d is valid for %v: %v, want %v", c.p, r, got, want)
			}
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
		start, end := c.period.Start(loc), sequence.PeriodEnd(c.reset, c.period, loc)
		if got := start.UTC().Format(time.RFC3339Nano); got != c.start {
			t.Errorf("%s %v %d starts at %s, want %s", c.zone, c.reset, c.period, got, c.start)
		}
		if got := end.UTC().Format(time.RFC3339Nano); got != c.end {
			t.Errorf("%s %v %d ends at %s, want %s", c.zone, c.reset, c.period, got, c.end)
		}
	}
	if !sequence.Period(0).Start(time.UTC).IsZero() || !sequence.PeriodEnd(sequence.ResetNone, 0, time.UTC).IsZero() {
		t.Error("no reset, and yet a period that starts or ends")
	}
	if !sequence.PeriodEnd(sequence.ResetDaily, 9999_12_31, time.UTC).IsZero() {
		t.Error("the last period ends")
	}
}

// The bounds of a period are exact in every zone: no moment before the start has its date or a later one, and
// the end is the first instant with a later date.
func TestPeriodBounds(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		loc := drawZone(t)
		at := drawTime(t, loc)
		reset := rapid.SampledFrom([]sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly}).Draw(t, "reset")
		p := sequence.PeriodAt(reset, at)
		if !p.Valid(reset) {
			t.Fatalf("%d is not valid", p)
		}
		if again, err := sequence.ParsePeriod(p.String()); err != nil || again != p {
			t.Fatalf("%d is written %s, which is %d, %v", p, p, again, err)
		}
		start, end := p.Start(loc), sequence.PeriodEnd(reset, p, loc)
		if at.Before(start) {
			t.Fatalf("%v is before the start %v", at, start)
		}
		if sequence.PeriodAt(reset, start) != p {
			t.Fatalf("%d starts at %v", p, start)
		}
		if before := sequence.PeriodAt(reset, start.Add(-1)); before >= p && p != 1_01_01 {
			t.Fatalf("%d starts at %v, but %d is before it", p, start, before)
		}
		if end.IsZero() {
			if p < 9999_01_01 {
				t.Fatalf("%d has no end", p)
			}
			return
		}
		if !end.After(start) || sequence.PeriodAt(reset, end) <= p || sequence.PeriodAt(reset, end.Add(-1)) != p {
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
		got := sequence.Clamp(at.In(load(t, c.zone)), c.reset, c.period)
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
		if got := sequence.Clamp(at, sequence.ResetDaily, c.period); !got.Equal(c.want) {
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
		reset := rapid.SampledFrom([]sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly}).Draw(t, "reset")
		p := sequence.PeriodAt(reset, drawTime(t, drawZone(t)))
		at := time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "unix"), 0).In(loc)
		if rapid.Bool().Draw(t, "near") {
			at = p.Start(loc).Add(time.Duration(rapid.Int64Range(-50, 50).Draw(t, "hours")) * time.Hour)
		}
		got := sequence.Clamp(at, reset, p)
		if sequence.PeriodAt(reset, got) != p {
			t.Fatalf("%v in %d is %v", at, p, got)
		}
		var number sequence.Period
		for _, c := range day.Append(nil, 0, got)[:8] {
			number = number*10 + sequence.Period(c-'0')
		}
		if back := sequence.PeriodAt(reset, time.Date(int(number/10_000), time.Month(number/100%100), int(number%100), 0, 0, 0, 0, time.UTC)); back != p {
			t.Fatalf("%v in %d is written as %d", at, p, number)
		}
		if sequence.PeriodAt(reset, at) == p && at.Year() >= 1 && at.Year() <= 9999 && !got.Equal(at) {
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
		case text == "" && p != 0 || text != "" && !p.Valid(sequence.ResetDaily):
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
