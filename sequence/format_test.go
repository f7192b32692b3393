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

func TestFormatReportsItsDates(t *testing.T) {
	for text, want := range map[string]string{
		"{seq}":                             "none",
		"{date:yyyy}{seq}":                  "year",
		"{date:yy}{seq}":                    "two-digit year",
		"{date:MM}{seq}{date:yyyy}":         "year, month",
		"{date:yyyyMMdd}{seq}{date:HHmmss}": "year, month, day, hour, minute, second",
	} {
		f, err := sequence.ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Dates().String(); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}

func TestParseFormatRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "no {seq}",
		"ORD":                    "no {seq}",
		"{{seq}}":                "no {seq}",
		"{date:yyyy}":            "no {seq}",
		"{seq}-{seq:06}":         "at byte 6: a second {seq}",
		"a{seq":                  "at byte 1: { without }",
		"{seq}}":                 "at byte 5: } without {",
		"{":                      "at byte 0: { without }",
		"{}{seq}":                "at byte 0: {} is neither",
		"{SEQ}":                  "at byte 0: {SEQ} is neither",
		"{seq }":                 "is neither",
		"{seq:}":                 "at byte 0: {seq:} does not write",
		"{seq:0}":                "does not write",
		"{seq:006}":              "does not write",
		"{seq:65}":               "does not write",
		"{seq:300}":              "does not write",
		"{seq:+6}":               "does not write",
		"{seq:-6}":               "does not write",
		"{seq:06:base62}":        "does not write",
		"{seq:base64}":           "does not write",
		"{seq:base62:}":          "does not write",
		"{seq:base62:6:6}":       "does not write",
		"{seq:HEX}":              "does not write",
		"{seq}{date}":            "at byte 5: {date} has no part of a date",
		"{seq}{date:}":           "has no part of a date",
		"{seq}{date:-}":          "has no part of a date",
		"{seq}{date:yyy}":        `"yyy" in {date:yyy} is not a part of a date`,
		"{seq}{date:yyyyMMMM}":   `"MMMM"`,
		"{seq}{date:YYYY}":       `"YYYY"`,
		"{seq}{date:d}":          `"d"`,
		"{seq}{date:yyyy MM}":    `" "`,
		"{seq}{date:yyyyT}":      `"T"`,
		"{seq}\n":                "at byte 5: \"\\n\" is not a printable character",
		"{seq}\x00":              "not a printable",
		"{seq}\xff":              "not a printable",
		"{seq}\u202e":            "not a printable",
		"{seq}\u00a0":            "not a printable",
		"{seq\x1b[31m}":          `{seq\x1b[31m} is neither`,
		strings.Repeat("a", 257): "257 bytes, expected at most 256",
	} {
		_, err := sequence.ParseFormat(text)
		if !errors.Is(err, sequence.ErrInvalidFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to say %q", text, err, want)
		}
	}
}

func TestCheckFormat(t *testing.T) {
	for _, c := range []struct {
		format string
		reset  sequence.Reset
		want   string // text of the error; empty if there is none
	}{
		{"{seq}", sequence.ResetNone, ""},
		{"{date:yyyyMMdd}{seq}", sequence.ResetDaily, ""},
		{"{date:dd}{seq}{date:yyyyMM}", sequence.ResetDaily, ""},
		{"{date:yyyyMMdd}{seq}", sequence.ResetYearly, ""},
		{"{date:yyyyMM}{seq}", sequence.ResetMonthly, ""},
		{"{date:yyyy}{seq}", sequence.ResetYearly, ""},
		{"{seq}", sequence.ResetDaily, "has no year, month, day, so"},
		{"{date:yyyyMM}{seq}", sequence.ResetDaily, "has no day, so"},
		{"{date:yyyydd}{seq}", sequence.ResetMonthly, "has no month, so"},
		{"{date:yyMMdd}{seq}", sequence.ResetDaily, ""},
		{"E{date:yy}-{seq:04}", sequence.ResetYearly, ""},
		{"{date:yydd}{seq}", sequence.ResetMonthly, "has no month, so"},
		{"{date:yyMM}{seq}", sequence.ResetDaily, "has no day, so texts would repeat with the reset daily; add year, month, day, for example {date:yyyyMMdd}, or set force_format"},
		{"{date:MMdd}{seq}", sequence.ResetYearly, "has no year, so"},
	} {
		f, err := sequence.ParseFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		err = sequence.CheckFormat(f, c.reset)
		if c.want == "" && err == nil {
			continue
		}
		if !errors.Is(err, sequence.ErrInvalidFormat) || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %v: error %v, want %q", c.format, c.reset, err, c.want)
		}
	}
	if err := sequence.CheckFormat(nil, sequence.ResetDaily); err != nil {
		t.Errorf("no format: %v", err)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	f, err := sequence.ParseFormat("ORD{date:yyyyMMdd-HHmmss}{seq:base62:20}")
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
	for _, text := range []string{"{seq}", "{seq:06}", "{seq:base62:8}", "ORD{date:yyyyMMdd}{seq:06}"} {
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
