package snowflake_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

func TestEncodingNames(t *testing.T) {
	want := []string{"dec", "hex", "base32", "base36", "base58", "base62"}
	var names []string
	for _, e := range snowflake.Encodings() {
		names = append(names, e.String())
		if got, err := snowflake.ParseEncoding(e.String()); err != nil || got != e {
			t.Errorf("ParseEncoding(%q) = %v, %v", e, got, err)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("Encodings() = %v, want %v", names, want)
	}
	for _, name := range []string{"", "Hex", "decimal", "base64", "Encoding(6)"} {
		if got, err := snowflake.ParseEncoding(name); !errors.Is(err, snowflake.ErrSyntax) {
			t.Errorf("ParseEncoding(%q) = %v, %v, want ErrSyntax", name, got, err)
		}
	}
}

func TestUnknownEncoding(t *testing.T) {
	e := snowflake.Encoding(6)
	if got := e.String(); got != "Encoding(6)" {
		t.Errorf("String() = %q", got)
	}
	if got := e.Encode(255); got != "255" {
		t.Errorf("Encode(255) = %q, want decimal", got)
	}
	if _, err := e.Decode("255"); !errors.Is(err, snowflake.ErrSyntax) || !strings.Contains(err.Error(), "unknown Encoding(6)") {
		t.Errorf("Decode: %v, want ErrSyntax", err)
	}
}

func TestEncode(t *testing.T) {
	for id, want := range map[uint64][6]string{
		0:                   {"0", "0", "0", "0", "1", "0"},
		57:                  {"57", "39", "1S", "1l", "z", "v"},
		61:                  {"61", "3d", "1X", "1p", "24", "z"},
		1541815603606036480: {"1541815603606036480", "1565a11f6217a000", "1ASD13XH1F800", "bppc0m3ju134", "4aaW4SzAyQK", "1ptWyK4WgZU"},
		math.MaxUint64:      {"18446744073709551615", "ffffffffffffffff", "FZZZZZZZZZZZZ", "3w5e11264sgsf", "jpXCZedGfVQ", "LygHa16AHYF"},
	} {
		for i, e := range snowflake.Encodings() {
			if got := e.Encode(id); got != want[i] {
				t.Errorf("%v: Encode(%d) = %q, want %q", e, id, got, want[i])
			}
			if got := string(e.Append([]byte("id-"), id)); got != "id-"+want[i] {
				t.Errorf("%v: Append(id-, %d) = %q, want %q", e, id, got, "id-"+want[i])
			}
			if got, err := e.Decode(want[i]); err != nil || got != id {
				t.Errorf("%v: Decode(%q) = %d, %v, want %d", e, want[i], got, err, id)
			}
		}
	}
}

func TestDecodeRelaxedForms(t *testing.T) {
	for _, c := range []struct {
		encoding snowflake.Encoding
		text     string
		want     uint64
	}{
		{snowflake.Decimal, "0042", 42},
		{snowflake.Decimal, strings.Repeat("0", 63) + "7", 7},
		{snowflake.Hex, "0xff", 255},
		{snowflake.Hex, "0XfF", 255},
		{snowflake.Hex, "FF", 255},
		{snowflake.Hex, "0", 0},
		{snowflake.Base32, "fzzzzzzzzzzzz", math.MaxUint64},
		{snowflake.Base32, "OoIiLl1", 1<<20 + 1<<15 + 1<<10 + 1<<5 + 1},
		{snowflake.Base32, "zZyYxX", 1073707965},
		{snowflake.Base36, "Zz", 35*36 + 35},
		{snowflake.Base58, "111z", 57},
		{snowflake.Base62, "00z", 61},
	} {
		if got, err := c.encoding.Decode(c.text); err != nil || got != c.want {
			t.Errorf("%v: Decode(%q) = %d, %v, want %d", c.encoding, c.text, got, err, c.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		encoding  snowflake.Encoding
		text      string
		want      error
		complaint string
	}{
		{snowflake.Decimal, "", snowflake.ErrSyntax, `ID "" has no digits`},
		{snowflake.Decimal, "-1", snowflake.ErrSyntax, `"-" at byte 0 of ID "-1" is not a dec digit, expected 0123456789`},
		{snowflake.Decimal, "+1", snowflake.ErrSyntax, `"+" at byte 0`},
		{snowflake.Decimal, "1_000", snowflake.ErrSyntax, `"_" at byte 1`},
		{snowflake.Decimal, "1 ", snowflake.ErrSyntax, `" " at byte 1`},
		{snowflake.Decimal, "1\x00", snowflake.ErrSyntax, `"\x00" at byte 1`},
		{snowflake.Decimal, "0x1", snowflake.ErrSyntax, `"x" at byte 1`},
		{snowflake.Decimal, "12é", snowflake.ErrSyntax, `"é" at byte 2`},
		{snowflake.Decimal, "12\xff", snowflake.ErrSyntax, `"\xff" at byte 2`},
		{snowflake.Decimal, strings.Repeat("0", 65), snowflake.ErrSyntax, "ID of 65 bytes, expected at most 64"},
		{snowflake.Hex, "0x", snowflake.ErrSyntax, `ID "0x" has no digits`},
		{snowflake.Hex, "0x0x1", snowflake.ErrSyntax, `"x" at byte 3`},
		{snowflake.Hex, "fg", snowflake.ErrSyntax, `"g" at byte 1`},
		{snowflake.Hex, "0x" + strings.Repeat("0", 63), snowflake.ErrSyntax, "ID of 65 bytes"},
		{snowflake.Base32, "U", snowflake.ErrSyntax, `"U" at byte 0`},
		{snowflake.Base32, "u", snowflake.ErrSyntax, `"u" at byte 0`},
		{snowflake.Base32, "1-1", snowflake.ErrSyntax, `"-" at byte 1`},
		{snowflake.Base58, "0", snowflake.ErrSyntax, `"0" at byte 0`},
		{snowflake.Base58, "I", snowflake.ErrSyntax, `"I" at byte 0`},
		{snowflake.Base58, "O", snowflake.ErrSyntax, `"O" at byte 0`},
		{snowflake.Base58, "1l", snowflake.ErrSyntax, `"l" at byte 1`},
		{snowflake.Base62, "a/b", snowflake.ErrSyntax, `"/" at byte 1`},

		// The greatest ID plus 1, and more digits than any ID has.
		{snowflake.Decimal, "18446744073709551616", snowflake.ErrOutOfRange, "exceeds 64 bits, expected at most 18446744073709551615"},
		{snowflake.Decimal, "99999999999999999999", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Hex, "10000000000000000", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Base32, "G000000000000", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Base36, "3w5e11264sgsg", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Base58, "jpXCZedGfVR", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Base62, "LygHa16AHYG", snowflake.ErrOutOfRange, "exceeds 64 bits"},
		{snowflake.Base62, strings.Repeat("z", 64), snowflake.ErrOutOfRange, "exceeds 64 bits"},
	} {
		got, err := c.encoding.Decode(c.text)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%v: Decode(%q) = %d, %v, want %v with %q", c.encoding, c.text, got, err, c.want, c.complaint)
		}
	}
}

func TestEncodingsRoundTripAndSort(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(snowflake.Encodings()).Draw(t, "encoding")
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		textA, textB := e.Encode(a), e.Encode(b)
		if got, err := e.Decode(textA); err != nil || got != a {
			t.Fatalf("%v: Decode(%q) = %d, %v, want %d", e, textA, got, err, a)
		}
		if len(textA) == len(textB) && (textA < textB) != (a < b) {
			t.Fatalf("%v: %d is %q, %d is %q: the order differs", e, a, textA, b, textB)
		}
	})
}

// slowDecode is the reference for Decode: Horner's rule in big integers, over alphabets that are written down a
// second time.
func slowDecode(e snowflake.Encoding, s string) (id uint64, ok bool) {
	alphabet := map[snowflake.Encoding]string{
		snowflake.Decimal: "0123456789",
		snowflake.Hex:     "0123456789abcdef",
		snowflake.Base32:  "0123456789abcdefghjkmnpqrstvwxyz",
		snowflake.Base36:  "0123456789abcdefghijklmnopqrstuvwxyz",
		snowflake.Base58:  "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
		snowflake.Base62:  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	}[e]
	if len(s) > 64 {
		return 0, false
	}
	lower := func(r rune) rune { // ASCII only: strings.ToLower turns the Kelvin sign into k
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	switch e {
	case snowflake.Hex:
		s = strings.TrimPrefix(strings.Map(lower, s), "0x")
	case snowflake.Base32:
		s = strings.NewReplacer("i", "1", "l", "1", "o", "0").Replace(strings.Map(lower, s))
	case snowflake.Base36:
		s = strings.Map(lower, s)
	}
	if s == "" {
		return 0, false
	}
	n := new(big.Int)
	for _, r := range s {
		digit := strings.IndexRune(alphabet, r)
		if digit < 0 {
			return 0, false
		}
		n.Mul(n, big.NewInt(int64(len(alphabet)))).Add(n, big.NewInt(int64(digit)))
	}
	return n.Uint64(), n.IsUint64()
}
