package sequence_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/sequence"
)

var moment = time.Date(2026, 3, 7, 4, 5, 9, 0, time.UTC)

func write(t testing.TB, format string, n int64, at time.Time) string {
	t.Helper()
	f, err := sequence.ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	if f.String() != format {
		t.Errorf("%q comes back as %q", format, f)
	}
	return string(f.Append(nil, n, at))
}

func TestFormatWritesNumbersAndDates(t *testing.T) {
	for _, c := range []struct {
		format string
		n      int64
		want   string
	}{
		{"{seq}", 42, "42"},
		{"{seq}", 0, "0"},
		{"{seq}", math.MinInt64, "-9223372036854775808"},
		{"ORD{date:yyyyMMdd}{seq:06}", 42, "ORD20260307000042"},
		{"{seq:06}", 1234567, "1234567"},
		{"{seq:6}", 999999, "999999"},
		{"{seq:6}", 99999, "099999"},
		{"{seq:06}", -42, "-000042"},
		{"{seq:1}", 0, "0"},
		{"{seq:064}", 7, strings.Repeat("0", 63) + "7"},
		{"{seq:dec:3}", 7, "007"},
		{"{seq:hex}", 255, "ff"},
		{"{seq:hex:4}", -255, "-00ff"},
		{"{seq:base32:04}", 31, "000Z"},
		{"{seq:base36}", math.MaxInt64, "1y2p0ij32e8e7"},
		{"{seq:base58:4}", 57, "111z"},
		{"{seq:base58:4}", 0, "1111"},
		{"{seq:base62:8}", 61, "0000000z"},
		{"{seq:base62}", math.MinInt64, "-AzL8n0Y58m8"},
		{"{{{seq}}}", 1, "{1}"},
		{"{{seq}} {seq}", 1, "{seq} 1"},
		{"№ {seq} ✓", 1, "№ 1 ✓"},
		{"{date:yy}-{seq}-{date:MM/dd}", 1, "26-1-03/07"},
		{"{date:HH:mm:ss}{seq}", 1, "04:05:091"},
		{"{date:yyyy-MM-dd_HH.mm}/{seq}", 1, "2026-03-07_04.05/1"},
		{"{date:-yyyy-}{seq}", 1, "-2026-1"},
	} {
		if got := write(t, c.format, c.n, moment); got != c.want {
			t.Errorf("%s writes %d as %q, want %q", c.format, c.n, got, c.want)
		}
	}
}

func TestFormatWritesDatesOfTheLocation(t *testing.T) {
	tokyo := load(t, "Asia/Tokyo")
	at := time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC).In(tokyo)
	if got := write(t, "{date:yyyy-MM-dd_HH}{seq}", 1, at); got != "2027-01-01_001" {
		t.Errorf("got %q", got)
	}
}

// The width of a year must not change, because texts of different periods could be equal otherwise.
func TestFormatKeepsTheWidthOfYears(t *testing.T) {
	for year, want := range map[int]string{-5: "0000", 0: "0000", 7: "0007", 9999: "9999", 10_000: "9999", 292_000_000: "9999"} {
		if got := write(t, "{date:yyyy}{seq}", 1, time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)); got != want+"1" {
			t.Errorf("year %d is written as %q, want %q", year, got, want+"1")
		}
	}
}

// A fiscal year is named by the year of its last day. Quarters count from its start, and weeks are those of ISO 8601.
func TestFormatWritesFiscalYearsAndWeeks(t *testing.T) {
	for _, c := range []struct {
		format string
		years  sequence.YearStart
		day    string
		want   string
	}{
		{"{fy}/{seq}", 401, "2026-03-31", "2026/1"},
		{"{fy}/{seq}", 401, "2026-04-01", "2027/1"},
		{"{fy}/{seq}", 0, "2026-12-31", "2026/1"},
		{"{fy:yy}{seq:03}", 406, "2026-04-05", "26001"},
		{"{fy:yy}{seq:03}", 406, "2026-04-06", "27001"},
		{"INV/{fy:yyyy-yy}/{seq:04}", 401, "2026-11-30", "INV/2026-27/0001"},
		{"INV/{fy:yyyy-yy}/{seq:04}", 401, "2027-03-31", "INV/2026-27/0001"},
		{"{fy:yy-yy}-{seq}", 401, "2099-04-01", "99-00-1"},
		{"{fy:yyyy/yyyy}-{seq}", 401, "2099-04-01", "2099/2100-1"},
		{"{fy:yyyy_yy}-{seq}", 0, "2026-04-01", "2026_26-1"},
		{"{fy:yyyy}{seq}", 1228, "2026-12-27", "20261"},
		{"{fy:yyyy}{seq}", 1228, "2026-12-28", "20271"},
		{"{fy}{seq}", 401, "9999-04-01", "00001"},
		{"{fy:yyyy-yyyy}-{seq}", 401, "0001-03-31", "0000-0001-1"},
		{"Q{quarter}-{seq}", 0, "2026-03-31", "Q1-1"},
		{"Q{quarter}-{seq}", 0, "2026-04-01", "Q2-1"},
		{"Q{quarter}-{seq}", 401, "2026-03-31", "Q4-1"},
		{"Q{quarter}-{seq}", 401, "2026-04-01", "Q1-1"},
		{"Q{quarter}-{seq}", 406, "2026-07-05", "Q1-1"},
		{"Q{quarter}-{seq}", 406, "2026-07-06", "Q2-1"},
		{"Q{quarter}-{seq}", 1101, "2026-01-31", "Q1-1"},
		{"Q{quarter}-{seq}", 1101, "2026-10-31", "Q4-1"},
		{"{weekyear}-W{week}-{seq}", 0, "2026-12-31", "2026-W53-1"},
		{"{weekyear}-W{week}-{seq}", 0, "2027-01-03", "2026-W53-1"},
		{"{weekyear}-W{week}-{seq}", 0, "2027-01-04", "2027-W01-1"},
		{"{weekyear}-W{week}-{seq}", 401, "2024-12-30", "2025-W01-1"},
		{"{weekyear:yy}{week}{seq:03}", 0, "2024-12-30", "2501001"},
		{"{weekyear:yyyy}{week}{seq:03}", 0, "0001-01-01", "000101001"},
		{"{weekyear}{week}-{seq}", 0, "9999-12-31", "999952-1"},
		{"{date:yy}{dayofyear}-{seq}", 0, "2024-12-31", "24366-1"},
		{"{date:yy}{dayofyear}-{seq}", 401, "2026-01-01", "26001-1"},
	} {
		f, err := sequence.Calendar{YearStarts: c.years}.ParseFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if f.YearStarts() != c.years {
			t.Errorf("%s has years from %d on, want %d", c.format, f.YearStarts(), c.years)
		}
		at, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Append(nil, 1, at)); got != c.want {
			t.Errorf("%s with years from %v on writes %s as %q, want %q", c.format, c.years, c.day, got, c.want)
		}
	}
}

func TestParseYearStart(t *testing.T) {
	for text, want := range map[string]sequence.YearStart{"": 0, "01-01": 0, "01-02": 102, "04-01": 401, "02-28": 228, "12-28": 1228} {
		got, err := sequence.ParseYearStart(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
		if again, err := sequence.ParseYearStart(got.String()); err != nil || again != got {
			t.Errorf("%d is written %q, which is %d, %v", got, got, again, err)
		}
	}
	for _, text := range []string{"02-29", "04-29", "04-30", "00-01", "13-01", "04-00", "4-1", "0401", "04-01 ", "04/01", "April 1", "-04-01", "2026-04-01"} {
		if got, err := sequence.ParseYearStart(text); !errors.Is(err, sequence.ErrInvalidYearStart) || !strings.Contains(err.Error(), "04-01") {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}

func TestParseFormatRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "no {seq}",
		"ORD":                           "no {seq}",
		"{{seq}}":                       "no {seq}",
		"{date:yyyy}":                   "no {seq}",
		"{seq}-{seq:06}":                "at byte 6: a second {seq}",
		"a{seq":                         "at byte 1: { without }",
		"{seq}}":                        "at byte 5: } without {",
		"{":                             "at byte 0: { without }",
		"{}{seq}":                       "at byte 0: {} is not a part",
		"{SEQ}":                         "at byte 0: {SEQ} is not a part",
		"{seq }":                        "is not a part",
		"{seq:}":                        "at byte 0: {seq:} does not write",
		"{seq:0}":                       "does not write",
		"{seq:006}":                     "does not write",
		"{seq:65}":                      "does not write",
		"{seq:300}":                     "does not write",
		"{seq:+6}":                      "does not write",
		"{seq:-6}":                      "does not write",
		"{seq:06:base62}":               "does not write",
		"{seq:base64}":                  "does not write",
		"{seq:base62:}":                 "does not write",
		"{seq:base62:6:6}":              "does not write",
		"{seq:HEX}":                     "does not write",
		"{seq}{code:digits:6}":          "at byte 5: a second {code}",
		"{code:digits:6}{seq}":          "a second {seq}",
		"{code}":                        "at byte 0: {code} does not write a code",
		"{code:base32}":                 "does not write a code",
		"{code:dec:6}":                  "does not write a code",
		"{code:base62:6}":               "does not write a code",
		"{code:digits:5}":               "does not write a code",
		"{code:base32:3}":               "does not write a code",
		"{code:base58:21}":              "does not write a code",
		"{code:base58:08}":              "does not write a code",
		"{code:base58:8:8}":             "does not write a code",
		"{seq}{check}":                  "at byte 5: {check} is not a check digit",
		"{seq}{check:Luhn}":             "is not a check digit",
		"{check:luhn}{seq}":             "at byte 0: {check:luhn} without a number",
		"{seq}{check:luhn}{check:luhn}": "expected it once",
		"{code:base32:8}{check:luhn}":   "cannot check this number or code, expected one in decimal digits",
		"{seq}{check:crockford}":        "expected one in base32",
		"{seq:base36}{check:crockford}": "expected one in base32",
		"{seq}{date}":                   "at byte 5: {date} has no part of a date",
		"{seq}{date:}":                  "has no part of a date",
		"{seq}{date:-}":                 "has no part of a date",
		"{seq}{date:yyy}":               `"yyy" in {date:yyy} is not a part of a date`,
		"{seq}{date:yyyyMMMM}":          `"MMMM"`,
		"{seq}{date:YYYY}":              `"YYYY"`,
		"{seq}{date:d}":                 `"d"`,
		"{seq}{date:yyyy MM}":           `" "`,
		"{seq}{date:yyyyT}":             `"T"`,
		"{seq}{fy:}":                    "{fy:} has 0 years, expected one or two",
		"{seq}{fy:-}":                   "{fy:-} has 0 years",
		"{seq}{fy:yy-yy-yy}":            "{fy:yy-yy-yy} has 3 years",
		"{seq}{fy:yyyyyy}":              `"yyyyyy" in {fy:yyyyyy} is not a year`,
		"{seq}{fy:MM}":                  `"MM" in {fy:MM} is not a year`,
		"{seq}{FY}":                     "{FY} is not a part",
		"{seq}{quarter:}":               "{quarter:} is not a part",
		"{seq}{week:2}":                 "{week:2} is not a part",
		"{seq}{weekyear:}":              "{weekyear:} is not a part",
		"{seq}{dayofyear:3}":            "{dayofyear:3} is not a part",
		"{seq}\n":                       "at byte 5: \"\\n\" is not a printable character",
		"{seq}\x00":                     "not a printable",
		"{seq}\xff":                     "not a printable",
		"{seq}\u202e":                   "not a printable",
		"{seq}\u00a0":                   "not a printable",
		"{seq\x1b[31m}":                 `{seq\x1b[31m} is not a part`,
		strings.Repeat("a", 257):        "257 bytes, expected at most 256",
	} {
		_, err := sequence.ParseFormat(text)
		if !errors.Is(err, sequence.ErrInvalidFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to say %q", text, err, want)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	f, err := sequence.ParseFormat("ORD{date:yyyyMMdd-HHmmss}{fy}{quarter}{weekyear}{week}{dayofyear}{seq:base62:20}")
	if err != nil {
		t.Fatal(err)
	}
	at := moment.In(load(t, "Europe/Berlin"))
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { buf = f.Append(buf[:0], -42, at) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, text := range []string{"{seq}", "{seq:06}", "{seq:base62:8}", "ORD{date:yyyyMMdd}{seq:06}", "{fy:yyyy-yy}{weekyear}{week}{dayofyear}{seq:06}"} {
		f, err := sequence.ParseFormat(text)
		if err != nil {
			b.Fatal(err)
		}
		at := moment.In(load(b, "Europe/Berlin"))
		b.Run(text, func(b *testing.B) {
			buf := make([]byte, 0, 64)
			var n int64
			for b.Loop() {
				n++
				buf = f.Append(buf[:0], n, at)
			}
		})
	}
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := sequence.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
