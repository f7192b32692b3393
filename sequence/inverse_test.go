package sequence_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/sequence"
)

// piece is a part of a format with its expected text, computed without the package.
type piece struct {
	text   string
	number bool
	base   string // digits of a number
	width  int
	date   func(at time.Time) string
}

const (
	digits10 = "0123456789"
	digits16 = "0123456789abcdef"
	digits32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	digits36 = "0123456789abcdefghijklmnopqrstuvwxyz"
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var javaToGo = strings.NewReplacer("yyyy", "2006", "yy", "06", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05")

func (p piece) want(n int64, at time.Time) string {
	switch {
	case p.date != nil:
		return p.date(at)
	case !p.number:
		return p.text
	}
	left, sign := big.NewInt(n), ""
	if left.Sign() < 0 {
		sign = "-"
		left.Neg(left)
	}
	base, rest, text := big.NewInt(int64(len(p.base))), new(big.Int), ""
	for text == "" || left.Sign() > 0 {
		left.QuoRem(left, base, rest)
		text = p.base[rest.Int64():rest.Int64()+1] + text
	}
	return sign + strings.Repeat(p.base[:1], max(0, p.width-len(text))) + text
}

// number reads the number back from a text that want wrote.
func (p piece) parse(text string) (int64, error) {
	n := new(big.Int)
	digits := strings.TrimPrefix(text, "-")
	for _, c := range []byte(digits) {
		value := strings.IndexByte(p.base, c)
		if value < 0 {
			return 0, fmt.Errorf("%q is not a digit of %q", c, text)
		}
		n.Add(n.Mul(n, big.NewInt(int64(len(p.base)))), big.NewInt(int64(value)))
	}
	if digits != text {
		n.Neg(n)
	}
	if !n.IsInt64() {
		return 0, strconv.ErrRange
	}
	return n.Int64(), nil
}

// dateParts lists the parts of dates with their texts, computed without the package.
func dateParts(starts sequence.YearStart) map[string]func(at time.Time) string {
	start := max(int(starts), 101)
	// fiscal returns the year in which the fiscal year of at begins.
	fiscal := func(at time.Time) int {
		if int(at.Month())*100+at.Day() < start {
			return at.Year() - 1
		}
		return at.Year()
	}
	ends := func(at time.Time) int {
		if starts == 0 {
			return at.Year()
		}
		return fiscal(at) + 1
	}
	// thursday is the day of at's week whose year is that of the week.
	thursday := func(at time.Time) time.Time { return at.AddDate(0, 0, 3-(int(at.Weekday())+6)%7) }
	year := func(n int) string { return fmt.Sprintf("%04d", n%10_000) }
	parts := map[string]func(at time.Time) string{
		"fy":         func(at time.Time) string { return year(ends(at)) },
		"fy:yy":      func(at time.Time) string { return year(ends(at))[2:] },
		"fy:yyyy.":   func(at time.Time) string { return year(ends(at)) + "." },
		"fy:yyyy-yy": func(at time.Time) string { return year(fiscal(at)) + "-" + year(ends(at))[2:] },
		"fy:yy/yyyy": func(at time.Time) string { return year(fiscal(at))[2:] + "/" + year(ends(at)) },
		"quarter": func(at time.Time) string {
			for n := 4; ; n-- {
				if begins := time.Date(fiscal(at), time.Month(start/100+3*n-3), start%100, 0, 0, 0, 0, at.Location()); n == 1 || dayOf(at) >= dayOf(begins) {
					return strconv.Itoa(n)
				}
			}
		},
		"week":        func(at time.Time) string { return fmt.Sprintf("%02d", (thursday(at).YearDay()-1)/7+1) },
		"weekyear":    func(at time.Time) string { return year(thursday(at).Year()) },
		"weekyear:yy": func(at time.Time) string { return year(thursday(at).Year())[2:] },
		"dayofyear":   func(at time.Time) string { return at.Format("002") },
	}
	for _, layout := range []string{"yyyyMMdd", "yyyy", "MM", "yy", "HH:mm:ss", "dd", "-yyyy/MM.", "ss"} {
		parts["date:"+layout] = func(at time.Time) string { return at.Format(javaToGo.Replace(layout)) }
	}
	return parts
}

func dayOf(at time.Time) int { return at.Year()*10_000 + int(at.Month())*100 + at.Day() }

// drawFormat draws a format with one number and the given parts of dates, as text and in pieces.
func drawFormat(t *rapid.T, starts sequence.YearStart, parts ...string) (string, []piece) {
	drawLiteral := rapid.StringMatching(`[0-9a-zA-Z{} #-]{0,3}|№é`)
	dates := dateParts(starts)
	var text strings.Builder
	var pieces []piece
	add := func(p piece, source string) {
		pieces = append(pieces, p)
		text.WriteString(source)
	}
	literal := func() {
		s := drawLiteral.Draw(t, "literal")
		add(piece{text: s}, strings.NewReplacer("{", "{{", "}", "}}").Replace(s))
	}
	for _, part := range rapid.Permutation(append(slices.Clone(parts), "seq")).Draw(t, "order") {
		literal()
		if part != "seq" {
			add(piece{date: dates[part]}, "{"+part+"}")
			continue
		}
		p := piece{number: true, width: rapid.SampledFrom([]int{0, 1, 2, 6, 8, 20, 64}).Draw(t, "width")}
		name := rapid.SampledFrom([]string{"", "hex", "base32", "base36", "base58", "base62"}).Draw(t, "encoding")
		p.base = map[string]string{"": digits10, "hex": digits16, "base32": digits32, "base36": digits36, "base58": digits58, "base62": digits62}[name]
		source := "{seq"
		if name != "" {
			source += ":" + name
		}
		if p.width > 0 {
			source += ":" + rapid.SampledFrom([]string{"", "0"}).Draw(t, "zero") + strconv.Itoa(p.width)
		}
		add(p, source+"}")
	}
	literal()
	return text.String(), pieces
}

// drawParts draws parts of dates.
func drawParts(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(dateParts(0)))), 0, 5).Draw(t, "dates")
}

// A text contains the number and all dates, so different ones have different texts.
func TestAppendParsesBack(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		starts := rapid.SampledFrom(yearStarts).Draw(t, "years start")
		text, pieces := drawFormat(t, starts, drawParts(t)...)
		f, err := sequence.Calendar{YearStarts: starts}.ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.Int64().Draw(t, "number")
		at := drawTime(t, time.UTC)
		got := string(f.Append([]byte("before "), n, at))
		got, _ = strings.CutPrefix(got, "before ")
		var want strings.Builder
		for _, p := range pieces {
			want.WriteString(p.want(n, at))
		}
		if got != want.String() {
			t.Fatalf("%s writes %q, want %q", text, got, want.String())
		}
		// Only the number's width varies, so its place is known from both ends.
		before, after, seen := 0, 0, piece{}
		for _, p := range pieces {
			switch width := len(p.want(n, at)); {
			case p.number:
				seen = p
			case seen.number:
				after += width
			default:
				before += width
			}
		}
		if back, err := seen.parse(got[before : len(got)-after]); err != nil || back != n {
			t.Fatalf("%s: %d is %q and comes back as %d, %v", text, n, got, back, err)
		}
		if back, err := f.Parse(got); err != nil || back.Number != n {
			t.Fatalf("%s: Parse(%q) = %d, %v, want %d", text, got, back.Number, err, n)
		}
	})
}

func FuzzParseFormat(f *testing.F) {
	for _, seed := range []string{
		"ORD{date:yyyyMMdd}{seq:06}", "{seq}", "{seq:base62:8}", "{{{seq}}}", "{seq}}", "{", "}", "", "{date:}", "{seq:065}",
		"{date:HH:mm:ss}{seq:hex}", "{seq:base58:4}{seq}", "\xff{seq}", "№{seq}", "{seq:dec:064}", "{date:-}{seq}",
		"{code:base32:8}{check:crockford}", "{date:yyyy}{code:digits:6}-{check:luhn}", "{seq}{check:luhn}",
	} {
		f.Add(seed, int64(-42), int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, n, unix int64) {
		format, err := sequence.ParseFormat(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "sequence: invalid format") || len(err.Error()) > 1000 {
				t.Errorf("error %q, want it short and to start with the package's name", err)
			}
			return
		}
		if format.String() != text {
			t.Errorf("%q parses and formats as %q", text, format)
		}
		at := time.Unix(unix, 0).UTC()
		if c, coded := format.Code(); coded {
			n = n & math.MaxInt64 % c.Max()
			if format, err = format.WithKey(codeKey); err != nil {
				t.Fatal(err)
			}
		}
		another := n ^ 1
		one, other := format.Append(nil, n, at), format.Append(nil, another, at)
		if string(one) == string(other) {
			t.Errorf("%q writes %d and %d as %q", text, n, another, one)
		}
		if back, err := format.Parse(string(one)); err != nil || back.Number != n {
			t.Errorf("%q reads %q as %d, %v, want %d", text, one, back.Number, err, n)
		}
		_, _ = format.Parse(text) // hostile
		// Only the number's width varies.
		if len(one) > len(text)+len(format.Append(nil, 0, at))+64 {
			t.Errorf("%q writes %d bytes", text, len(one))
		}
		if again, err := keyed(text); err != nil || string(again.Append(nil, n, at)) != string(one) {
			t.Errorf("%q does not write the same again: %v", text, err)
		}
	})
}
