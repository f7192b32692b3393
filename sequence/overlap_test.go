package sequence_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/sequence"
)

func parse(t rapid.TB, text string) *sequence.Format {
	t.Helper()
	if text == "" {
		return nil
	}
	f, err := keyed(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "{seq}", false},
		{"", "{seq:08}", false},
		{"{seq:06}", "{seq:08}", false},
		{"{date:yyyyMMdd}{seq:04}", "{date:yyyyMMdd}{seq:06}", false},
		{"", "INV-{seq:06}", false},
		{"INV-{seq}", "INV-{date:yyyy}-{seq}", false},
		{"INV-{seq}", "R-{seq}", false},
		{"{date:yyyyMMdd}-{seq}", "{date:yyMMdd}-{seq}", false},
		{"{seq}A", "{seq}B", false},
		{"{seq}", "{seq}-", false},
		{"", "1{seq}", true},
		{"", "-{seq}", true},
		{"", "{seq:base62}", true},
		{"A{seq}", "A{date:yyyy}{seq}", true},
		{"A{seq:base36}", "{seq:base62}", true},
		{"A{seq}", "{seq}", false},
		{"{date:yyyy}-{seq}", "2026-{seq}", true},
		{"{seq:10}", "{date:yyyyMMddHH}{seq}", true},
		{"{date:MM}{seq:hex}", "{date:dd}{seq:hex}", true},
		{"{code:base32:8}", "{code:base32:8}{check:crockford}", false},
		{"A{code:base32:8}", "A-{code:base32:8}", false},
		{"{code:digits:6}A", "{code:digits:6}B", false},
		{"{code:digits:6}", "{code:digits:7}", false},
		{"{code:digits:6}", "{code:base36:6}", true},
		{"1{code:digits:6}", "{code:digits:6}1", true},
		{"{code:digits:6}", "", true},
		{"{code:digits:6}", "{seq:07}", false},
		{"{seq}", "{seq}{check:luhn}", true},
		{"{seq:03}{check:luhn}", "{seq:05}{check:luhn}", false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if got, back := sequence.Overlap(a, b), sequence.Overlap(b, a); got != c.want || back != c.want {
			t.Errorf("Overlap(%q, %q) = %v, %v the other way round, want %v", c.a, c.b, got, back, c.want)
		}
	}
}

// Two formats with equal parts overlap if their fiscal years differ: one may write a later day as the other wrote an earlier one.
func TestOverlapOfFiscalYears(t *testing.T) {
	for text, want := range map[string]bool{
		"{fy}{date:MMdd}-{seq}": true, "{quarter}-{seq}": true, "{fy:yyyy-yy}/{seq}": true, "{date:yyyyMMdd}{seq}": false, "{weekyear}{week}{seq}": false,
	} {
		a, b := parse(t, text), parse(t, text)
		if sequence.Overlap(a, b) {
			t.Errorf("%q overlaps itself", text)
		}
		b, err := sequence.Calendar{YearStarts: 401}.ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		if sequence.Overlap(a, b) != want || sequence.Overlap(b, a) != want {
			t.Errorf("%q with another start of years overlaps: %v, want %v", text, !want, want)
		}
	}
}

// Formats that do not overlap write different texts for different numbers.
func TestOverlapMissesNothing(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		var formats [2]*sequence.Format
		texts := map[string]int64{}
		for i := range formats {
			text := rapid.StringMatching(`[01-]?({(date:(MM|dd)|quarter|week|dayofyear|fy:yy)})?[01-]?{seq(:02|:hex)?}1?`).Draw(t, "format")
			f, err := sequence.Calendar{YearStarts: rapid.SampledFrom([]sequence.YearStart{0, 401}).Draw(t, "years start")}.ParseFormat(text)
			if err != nil {
				t.Fatal(err)
			}
			formats[i] = f
		}
		overlap := sequence.Overlap(formats[0], formats[1])
		for i, f := range formats {
			for n := int64(-20); n <= 150; n++ {
				for _, at := range []time.Time{time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)} {
					text := string(f.Append(nil, n, at))
					if other, ok := texts[text]; ok && i == 1 && other != n && !overlap {
						t.Fatalf("%q and %q both write %q, for %d and %d", formats[0], formats[1], text, other, n)
					}
					if i == 0 {
						texts[text] = n
					}
				}
			}
		}
	})
}
