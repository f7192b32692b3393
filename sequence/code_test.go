package sequence_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/snowflake"
)

// codeKey is the key of the samples of SP 800-38G.
var codeKey = [sequence.CodeKeyBytes]byte{0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c}

// keyed parses a format and gives it a key.
func keyed(text string) (*sequence.Format, error) {
	f, err := sequence.ParseFormat(text)
	if err != nil {
		return nil, err
	}
	return f.WithKey(codeKey)
}

// Issued codes must be readable forever, so they never change. The first one is a sample of SP 800-38G.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format string
		n      int64
		want   string
	}{
		{"{code:digits:10}", 123456789, "2433477484"},
		{"{code:digits:6}", 0, "916939"},
		{"{code:digits:6}", 999_999, "484882"},
		{"{code:base32:8}", 1, "687V1A0Z"},
		{"{code:base32:8}", 2, "FNNKSNZ1"},
		{"V-{code:base32:8}-{check:crockford}", 1, "V-687V1A0Z-M"},
		{"{code:base36:13}", math.MaxInt64, "auumqctm7cgl6"},
		{"{code:base58:20}", math.MaxInt64, "1CUGKauBZWxkKM5fFuob"},
		{"{code:digits:8}{check:luhn}", 42, "116462391"},
	} {
		if got := string(parse(t, c.format).Append(nil, c.n, time.Time{})); got != c.want {
			t.Errorf("%s writes %d as %q, want %q", c.format, c.n, got, c.want)
		}
	}
}

// A sequence of a million codes is issued whole: all codes are different, have one length, and lead back.
func TestMillionCodesAreDifferentAndReadBack(t *testing.T) {
	t.Parallel()
	f := parse(t, "{code:digits:6}")
	c, _ := f.Code()
	if c.Max() != 999_999 {
		t.Fatalf("Max() = %d", c.Max())
	}
	seen := make(map[string]bool, c.Max()+1)
	for n := range c.Max() + 1 {
		text := string(f.Append(nil, n, time.Time{}))
		if len(text) != 6 || seen[text] {
			t.Fatalf("%d has the code %q, which is too long or appears twice", n, text)
		}
		seen[text] = true
		if back, err := f.Parse(text); err != nil || back.Number != n {
			t.Fatalf("Parse(%q) = %d, %v, want %d", text, back.Number, err, n)
		}
	}
}

func TestCodesReadBack(t *testing.T) {
	t.Parallel()
	seed.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]string{"digits", "base32", "base36", "base58"}).Draw(t, "alphabet")
		format := fmt.Sprintf("{date:yyyy}-{code:%s:%d}", alphabet, rapid.IntRange(6, 20).Draw(t, "length"))
		if check := map[string]string{"digits": "luhn", "base32": "crockford"}[alphabet]; check != "" && rapid.Bool().Draw(t, "check") {
			format += "/{check:" + check + "}"
		}
		f, err := sequence.ParseFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		if !f.NeedsKey() {
			t.Fatalf("%s needs no key", format)
		}
		if f, err = f.WithKey([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))); err != nil || f.NeedsKey() {
			t.Fatal(err)
		}
		c, ok := f.Code()
		if !ok || !strings.Contains(format, c.String()) {
			t.Fatalf("%s has the code %v, %v", format, c, ok)
		}
		n := rapid.Int64Range(0, c.Max()).Draw(t, "number")
		now := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
		at := drawTime(t, time.UTC)
		text := string(f.Append(nil, n, at))
		if len(text) != len(f.Append(nil, 0, now)) {
			t.Fatalf("%s writes %d as %q, which has another length", format, n, text)
		}
		typed := text
		if alphabet == "base32" && rapid.Bool().Draw(t, "typed") {
			typed = strings.NewReplacer("0", "o", "1", "l").Replace(strings.ToLower(text[5:]))
			typed = text[:5] + typed
		}
		back, err := f.Parse(typed)
		if err != nil || back.Number != n {
			t.Fatalf("Parse(%q) = %d, %v, want %d", typed, back.Number, err, n)
		}
		p, known, err := back.Period(sequence.Calendar{Reset: sequence.ResetYearly}, now)
		if year := at.Year(); year >= 1970 && year <= 2026 {
			if p != (sequence.Calendar{Reset: sequence.ResetYearly}).PeriodAt(at) || !known || err != nil {
				t.Fatalf("the period of %q is %v, %v, %v", text, p, known, err)
			}
		} else if !errors.Is(err, sequence.ErrInvalidText) {
			t.Fatalf("the period of %q is %v, %v, %v, want ErrInvalidText", text, p, known, err)
		}
	})
}

// A wrong character, and two exchanged ones, are found.
func TestCheckDigitsFindTypingErrors(t *testing.T) {
	t.Parallel()
	for format, alphabet := range map[string]string{
		"{code:digits:8}{check:luhn}": "0123456789", "{code:base32:8}{check:crockford}": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
		"{seq:08}{check:luhn}": "0123456789",
	} {
		f := parse(t, format)
		for n := range int64(50) {
			text := f.Append(nil, n*n*977, time.Time{})
			for i := range len(text) - 1 {
				for _, wrong := range []byte(alphabet) {
					typed := append([]byte(nil), text...)
					if typed[i] = wrong; wrong == text[i] {
						continue
					}
					if _, err := f.Parse(string(typed)); err == nil || !strings.Contains(err.Error(), "check digit") {
						t.Fatalf("%s: Parse(%q) instead of %q: %v", format, typed, text, err)
					}
				}
				typed := append([]byte(nil), text...)
				typed[i], typed[i+1] = typed[i+1], typed[i]
				exchanged := string([]byte{min(typed[i], typed[i+1]), max(typed[i], typed[i+1])})
				if _, err := f.Parse(string(typed)); (err == nil) != (typed[i] == typed[i+1] || exchanged == "09" && alphabet == digits10) {
					t.Fatalf("%s: Parse(%q) instead of %q: %v", format, typed, text, err)
				}
			}
		}
	}
}

func TestCheckDigits(t *testing.T) {
	t.Parallel()
	for format, numbers := range map[string]map[int64]string{
		"{seq}{check:luhn}":             {7992739871: "79927398713", 0: "00", 1: "18", -1: "-18", 9: "91"},
		"{seq:04}.{check:luhn}":         {12: "0012.5"},
		"7{seq:04}{check:luhn}":         {12: "700125"},
		"{seq:base32}{check:crockford}": {1234: "16JD", 32: "10*", 33: "11~", 34: "12$", 35: "13=", 36: "14U", 37: "150"},
	} {
		for n, want := range numbers {
			f := parse(t, format)
			if got := string(f.Append(nil, n, time.Time{})); got != want {
				t.Errorf("%s writes %d as %q, want %q", format, n, got, want)
			}
			if back, err := f.Parse(strings.ToLower(want)); err != nil || back.Number != n {
				t.Errorf("%s: Parse(%q) = %d, %v", format, want, back.Number, err)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, text, want string }{
		{"V-{code:digits:6}", "V-12345", "too short"},
		{"V-{code:digits:6}", "V-1234567", `"7" is too much`},
		{"V-{code:digits:6}", "W-123456", `found "W-", expected "V-"`},
		{"V-{code:digits:6}", "V-12345x", `"x" is not a character of the code`},
		{"V-{code:digits:6}", "V-+12345", `"+" is not a character`},
		{"V-{code:digits:6}", "", "too short"},
		{"{code:base58:20}", "zzzzzzzzzzzzzzzzzzzz", "no number has the code"},
		{"{seq:03}", "0042", "zeros in front"},
		{"{seq:03}", "42", "zeros in front"},
		{"{seq}", "-0", "not one of 64 bits"},
		{"{seq}", "9223372036854775808", "not one of 64 bits"},
		{"{seq}", "-9223372036854775809", "not one of 64 bits"},
		{"{seq}", "--1", "not a dec digit"},
		{"{seq}X", "X", "has no digits"},
		{"{seq:hex}", "0xff", "zeros in front"},
		{"{date:yyyy}-{seq}", "20x6-1", "expected the digits of a date"},
		{"{date:HH}-{seq}", "24-1", "expected a time of day"},
		{"{date:mm}-{seq}", "60-1", "expected a time of day"},
		{"{seq}" + strings.Repeat("a", 200), strings.Repeat("b", 70_000), "ID of 69800 bytes"},
	} {
		if got, err := parse(t, c.format).Parse(c.text); !errors.Is(err, sequence.ErrInvalidText) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: Parse(%.20q) = %d, %v, want %s", c.format, c.text, got.Number, err, c.want)
		}
	}
	if back, err := parse(t, "{seq}").Parse("-9223372036854775808"); err != nil || back.Number != math.MinInt64 {
		t.Errorf("Parse of the least number = %d, %v", back.Number, err)
	}
}

func TestPeriodOfTexts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		format, text string
		reset        sequence.Reset
		want         string
	}{
		{"{date:yyyy}-{seq}", "2026-1", sequence.ResetYearly, "2026-01-01"},
		{"{date:yy}-{seq}", "70-1", sequence.ResetYearly, "1970-01-01"},
		{"{date:ddMMyy}-{seq}", "301126-1", sequence.ResetDaily, "2026-11-30"},
		{"{date:ddMMyy}-{seq}", "011226-1", sequence.ResetDaily, "2026-12-01"}, // issued while the call waited
		{"{date:ddMMyyHH}-{seq}", "29022423-1", sequence.ResetMonthly, "2024-02-01"},
		{"{date:ddMMyy}-{seq}", "290223-1", sequence.ResetMonthly, "error"},
		{"{date:ddMMyy}-{seq}", "021226-1", sequence.ResetDaily, "error"},
		{"{date:yyyy}-{seq}", "1969-1", sequence.ResetNone, "error"},
		{"{date:yyyyMM}-{seq}", "202613-1", sequence.ResetNone, "error"},
		{"{date:yyyyMM}-{seq}", "202611-1", sequence.ResetNone, ""},
		{"{date:MM}-{seq}", "11-1", sequence.ResetYearly, "unknown"},
		{"{seq}", "1", sequence.ResetYearly, "unknown"},
		{"{seq}", "1", sequence.ResetNone, ""},
		{"{date:HH}{seq}", "231", sequence.ResetNone, ""},
	} {
		read, err := parse(t, c.format).Parse(c.text)
		if err != nil {
			t.Errorf("%s: Parse(%q): %v", c.format, c.text, err)
			continue
		}
		p, known, err := read.Period(sequence.Calendar{Reset: c.reset}, now)
		got := p.String()
		switch {
		case err != nil:
			got = "error"
		case !known:
			got = "unknown"
		}
		if got != c.want {
			t.Errorf("%s: the period of %q is %s, %v, want %s", c.format, c.text, got, err, c.want)
		}
	}
}

func TestCodesNeedTheirKey(t *testing.T) {
	t.Parallel()
	f, err := sequence.ParseFormat("{code:base32:8}")
	if err != nil {
		t.Fatal(err)
	}
	withKey, err := f.WithKey(codeKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(){
		"Append without the key": func() { f.Append(nil, 1, time.Time{}) },
		"a negative number":      func() { withKey.Append(nil, -1, time.Time{}) },
		"a number beyond":        func() { withKey.Append(nil, 1<<40, time.Time{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			call()
		}()
	}
	if _, err := f.Parse("00000000"); !errors.Is(err, sequence.ErrInvalidText) {
		t.Errorf("Parse without the key: %v", err)
	}
	if plain := parse(t, "{seq}"); plain.NeedsKey() {
		t.Error("{seq} needs a key")
	}
	if got := (sequence.Code{Encoding: snowflake.Base62, Length: 5}).String(); got != "Code(5:5)" {
		t.Errorf("String() = %q", got)
	}
}

func BenchmarkAppendCode(b *testing.B) {
	for _, format := range []string{"{code:base32:8}", "{code:digits:10}{check:luhn}", "{code:base58:20}"} {
		b.Run(format, func(b *testing.B) {
			f, err := keyed(format)
			if err != nil {
				b.Fatal(err)
			}
			var text []byte
			for n := int64(0); b.Loop(); n++ {
				text = f.Append(text[:0], n%1_000_000, time.Time{})
			}
		})
	}
}
