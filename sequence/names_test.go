package sequence

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

func mustParse(t testing.TB, text string) *Format {
	t.Helper()
	f, err := ParseFormat(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFormatFor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ format, name, text, number string }{
		{"INV-{name:2}-{date:yyyy}-{seq:05}", "invoices/acme", "INV-acme-{date:yyyy}-{seq:05}", "INV-acme-2026-00007"},
		{"{name:1}/{name:2}{seq}", "a{b}/c", "a{{b}}/c{seq}", "a{b}/c7"},
		{"{seq}", "a", "{seq}", "7"},
		{"{name:3}-{seq}", "é/b/c", "c-{seq}", "c-7"},
	} {
		f, err := mustParse(t, c.format).For(c.name)
		if err != nil || f.String() != c.text {
			t.Errorf("%q for %q: %v, %v", c.format, c.name, f, err)
			continue
		}
		if got := string(f.Append(nil, 7, at)); got != c.number {
			t.Errorf("%q for %q writes %q, want %q", c.format, c.name, got, c.number)
		}
	}
	if got := string(mustParse(t, "{name:2}-{seq}").Append(nil, 7, at)); got != "{name:2}-7" {
		t.Errorf("without a name: %q", got)
	}
	for format, name := range map[string]string{"{name:2}-{seq}": "orders", strings.Repeat("x", 200) + "{name:1}{seq}": strings.Repeat("y", 60)} {
		if _, err := mustParse(t, format).For(name); !errors.Is(err, ErrInvalidFormat) {
			t.Errorf("%q for %q: %v", format, name, err)
		}
	}
	for _, format := range []string{"{name}{seq}", "{name:0}{seq}", "{name:02}{seq}", "{name:65}{seq}", "{name:x}{seq}", "{name:}{seq}"} {
		if _, err := ParseFormat(format); !errors.Is(err, ErrInvalidFormat) {
			t.Errorf("%q: %v", format, err)
		}
	}
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][2]bool{ // unsigned, signed
		"INV-{name:2}-{date:yyyy}-{seq:05}": {true, true},
		"{name:2}-{seq:05}":                 {true, false}, // a- and 1, a and -1
		"INV{name:2}{seq}":                  {false, false},
		"{seq}{name:2}":                     {false, false},
		"{seq}-{name:2}":                    {true, true},
		"{name:2}{date:yyyy}/{seq}":         {true, true}, // the year has four digits
		"{name:2}-{name:3}/{seq}":           {false, false},
		"{name:2}/{name:3}/{seq}":           {true, true}, // no part has a slash
		"{name:2}x{seq:base36}":             {false, false},
		"{name:2}/{seq:base62}":             {true, true},
		"{seq}":                             {true, true},
	} {
		for i, signed := range []bool{false, true} {
			if err := CheckNames(mustParse(t, format), signed); (err == nil) != want[i] {
				t.Errorf("%q, signed %v: %v", format, signed, err)
			}
		}
	}
}

// No two names have a text in common if CheckNames accepts their format. Names and formats are short, so that collisions are found.
func TestCheckedNamesNeverMeet(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	names, accepted := []string{"1", "11", "-", "-1", "1-", "1-1", "x", "x1", "1x", "2026", "-2026", "1-2026-", "--"}, 0
	seed.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"{name:1}", "{name:2}", "-", "x", "/", "{date:yyyy}"}), 1, 5).Draw(t, "pieces")
		at1 := rapid.IntRange(0, len(pieces)).Draw(t, "place")
		number := rapid.SampledFrom([]string{"{seq}", "{seq:02}", "{seq:base36}"}).Draw(t, "number")
		f, err := ParseFormat(strings.Join(pieces[:at1], "") + number + strings.Join(pieces[at1:], ""))
		if err != nil {
			t.Fatal(err)
		}
		signed := rapid.Bool().Draw(t, "signed")
		if CheckNames(f, signed) != nil {
			return
		}
		accepted++
		of := map[string]string{}
		for _, first := range names {
			for _, second := range names {
				bound, err := f.For(first + "/" + second)
				if err != nil {
					t.Fatal(err)
				}
				var key []string
				for _, n := range f.NameParts() {
					key = append(key, []string{first, second}[n-1])
				}
				for n := int64(-12); n < 13; n++ {
					if n < 0 && !signed {
						continue
					}
					text := string(bound.Append(nil, n, at))
					if other, ok := of[text]; ok && other != strings.Join(key, "/") {
						t.Fatalf("%q, signed %v, writes %q for %v and for %s", f, signed, text, key, other)
					}
					of[text] = strings.Join(key, "/")
				}
			}
		}
	})
	if accepted == 0 {
		t.Error("no format was accepted")
	}
}
