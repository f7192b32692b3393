package sequence_test

import (
	"fmt"
	"math/big"
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
	layout string // layout of a date for time.Format
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
	case p.layout != "":
		return at.Format(p.layout)
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

// drawFormat draws a format with one number, as text and in pieces. It has at least the date parts of the given
// layouts.
func drawFormat(t *rapid.T, layouts ...string) (string, []piece) {
	drawLiteral := rapid.StringMatching(`[0-9a-zA-Z{} #-]{0,3}|№é`)
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
	for range rapid.IntRange(0, 2).Draw(t, "more dates") {
		layouts = append(layouts, rapid.SampledFrom([]string{"yyyyMMdd", "yy", "HH:mm:ss", "dd", "-yyyy/MM.", "ss"}).Draw(t, "date"))
	}
	layouts = append(layouts, "") // the number
	for _, layout := range rapid.Permutation(layouts).Draw(t, "order") {
		literal()
		if layout != "" {
			add(piece{layout: javaToGo.Replace(layout)}, "{date:"+layout+"}")
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

// A text contains the number and all dates, so different ones have different texts.
func TestAppendParsesBack(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		text, pieces := drawFormat(t)
		f, err := sequence.ParseFormat(text)
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
	})
}

// No two pairs of period and number have the same text, whenever the text is written. With a year of two digits, this holds for a
// century. This is the promise of CheckFormat.
func TestTextsOfPeriodsAndNumbersDiffer(t *testing.T) {
	type pair struct {
		period sequence.Period
		number int64
	}
	seed.Check(t, func(t *rapid.T) {
		reset := rapid.SampledFrom([]sequence.Reset{sequence.ResetDaily, sequence.ResetMonthly, sequence.ResetYearly}).Draw(t, "reset")
		must := rapid.SampledFrom(map[sequence.Reset][]string{
			sequence.ResetDaily: {"yyyyMMdd", "dd-MM-yyyy", "yyMMdd"}, sequence.ResetMonthly: {"yyyyMM", "MM/yyyy", "MM.yy"}, sequence.ResetYearly: {"yyyy", "yy"},
		}[reset]).Draw(t, "layout")
		years := []int{-1, 1, 1926, 2011, 2018, 2019, 9999, 10_001}
		if !strings.Contains(must, "yyyy") {
			years = []int{2000, 2001, 2011, 2018, 2019, 2098}
		}
		text, _ := drawFormat(t, must)
		f, err := sequence.ParseFormat(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := sequence.CheckFormat(f, reset); err != nil {
			t.Fatal(err)
		}
		loc := drawZone(t)
		seen := map[string]pair{}
		// Few numbers and neighboring days, so that texts that could repeat do repeat.
		for range 200 {
			p := pair{
				sequence.PeriodAt(reset, drawNear(t, loc, years)),
				rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64Range(0, 12_345)).Draw(t, "number"),
			}
			written := string(f.Append(nil, p.number, sequence.Clamp(drawNear(t, loc, years), reset, p.period)))
			if other, found := seen[written]; found && other != p {
				// The same number in one period may have many texts, but one text has only one number and
				// period.
				t.Fatalf("%s writes both %v and %v as %q", text, p, other, written)
			}
			seen[written] = p
		}
	})
}

func drawNear(t *rapid.T, loc *time.Location, years []int) time.Time {
	year := rapid.SampledFrom(years).Draw(t, "year")
	start := time.Date(year, 11, 1, 0, 0, 0, 0, loc)
	return start.Add(time.Duration(rapid.Int64Range(0, 90*24*60).Draw(t, "minutes")) * time.Minute)
}

func FuzzParseFormat(f *testing.F) {
	for _, seed := range []string{
		"ORD{date:yyyyMMdd}{seq:06}", "{seq}", "{seq:base62:8}", "{{{seq}}}", "{seq}}", "{", "}", "", "{date:}", "{seq:065}",
		"{date:HH:mm:ss}{seq:hex}", "{seq:base58:4}{seq}", "\xff{seq}", "№{seq}", "{seq:dec:064}", "{date:-}{seq}",
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
		one, other := format.Append(nil, n, at), format.Append(nil, ^n, at)
		if string(one) == string(other) {
			t.Errorf("%q writes %d and %d as %q", text, n, ^n, one)
		}
		// Only the number's width varies.
		if len(one) > len(text)+len(format.Append(nil, 0, at))+64 {
			t.Errorf("%q writes %d bytes", text, len(one))
		}
		if again, err := sequence.ParseFormat(text); err != nil || string(again.Append(nil, n, at)) != string(one) {
			t.Errorf("%q does not write the same again: %v", text, err)
		}
	})
}
