package snowflake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

func FuzzParseField(f *testing.F) {
	for _, seed := range []string{"time", "datacenter", "worker", "sequence", "", "Time", "time ", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		field, err := snowflake.ParseField(s)
		checkError(t, err, snowflake.ErrSyntax)
		if err == nil && field.String() != s {
			t.Errorf("ParseField(%q) = %v", s, field)
		}
	})
}

func FuzzParseEncoding(f *testing.F) {
	for _, seed := range []string{"dec", "hex", "base32", "base36", "base58", "base62", "", "HEX", "base64", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := snowflake.ParseEncoding(s)
		checkError(t, err, snowflake.ErrSyntax)
		if err == nil && e.String() != s {
			t.Errorf("ParseEncoding(%q) = %v", s, e)
		}
	})
}

// FormatFields writes, and New accepts, every result of ParseFields.
func FuzzParseFields(f *testing.F) {
	for _, seed := range []string{
		"time:41,worker:10,sequence:12", "time:63", "sequence:1,time:63", "time:64", "time:041", "time:+1",
		"time:1,time:1", "worker:10", "time:41,worker:14,sequence:10", "time:41,", ",", ":", "", "time:", "time:99999999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fields, err := snowflake.ParseFields(s)
		checkError(t, err, snowflake.ErrInvalidLayout)
		if err != nil {
			return
		}
		if back := snowflake.FormatFields(fields); back != s {
			t.Errorf("%q parses and formats as %q", s, back)
		}
		if _, err := snowflake.New(snowflake.Spec{Name: "fuzz", Fields: fields, UnitMillis: 1}); err != nil {
			t.Errorf("New refuses %q: %v", s, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add("time:41,worker:10,sequence:12", uint64(491031363588106))
	f.Add("time:42,datacenter:5,worker:5,sequence:12", uint64(175928847299117063))
	f.Add("time:39,sequence:8,worker:16", uint64(1677787138))
	f.Add("time:41,worker:3,sequence:9", uint64(1<<53))
	f.Add("sequence:1,time:63", ^uint64(0))
	f.Fuzz(func(t *testing.T, text string, id uint64) {
		fields, err := snowflake.ParseFields(text)
		if err != nil {
			return
		}
		l, err := snowflake.New(snowflake.Spec{Name: "fuzz", Fields: fields, UnitMillis: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Unpack(id)
		checkError(t, err, snowflake.ErrOutOfRange)
		if fits := l.Bits() == 64 || id < 1<<l.Bits(); fits != (err == nil) {
			t.Errorf("%s: Unpack(%d): %v", text, id, err)
		}
		if err != nil {
			return
		}
		if back, err := l.Pack(p); err != nil || back != id {
			t.Errorf("%s: %d is %+v, and comes back as %d, %v", text, id, p, back, err)
		}
	})
}

func FuzzDecodeDecimal(f *testing.F) {
	fuzzDecode(f, snowflake.Decimal, "18446744073709551616", "-1", "+1", "1_0", "٣")
}

func FuzzDecodeHex(f *testing.F) {
	fuzzDecode(f, snowflake.Hex, "0xFF", "0X", "0x0x1", "10000000000000000")
}

func FuzzDecodeBase32(f *testing.F) {
	fuzzDecode(f, snowflake.Base32, "OoIiLl", "U", "1-1", "G000000000000")
}

func FuzzDecodeBase36(f *testing.F) {
	fuzzDecode(f, snowflake.Base36, "Zz", "\u212a", "3w5e11264sgsg")
}

func FuzzDecodeBase58(f *testing.F) {
	fuzzDecode(f, snowflake.Base58, "0OIl", "111z", "jpXCZedGfVR")
}

func FuzzDecodeBase62(f *testing.F) {
	fuzzDecode(f, snowflake.Base62, "00z", "a/b", "LygHa16AHYG")
}

func fuzzDecode(f *testing.F, e snowflake.Encoding, seeds ...string) {
	for _, id := range []uint64{0, 1, 1541815603606036480, ^uint64(0)} {
		f.Add(e.Encode(id))
	}
	for _, seed := range append(seeds, "", " ", "\x00", "\xff", strings.Repeat("1", 64), strings.Repeat("1", 65)) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := e.Decode(s)
		checkError(t, err, snowflake.ErrSyntax, snowflake.ErrOutOfRange)
		want, ok := slowDecode(e, s)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("%v: Decode(%q) = %d, %v, want %d, %v", e, s, got, err, want, ok)
		}
		if err != nil {
			return
		}
		if back, err := e.Decode(e.Encode(got)); err != nil || back != got {
			t.Errorf("%v: %d comes back as %d, %v", e, got, back, err)
		}
	})
}

// checkError requires that err is nil, or is one of oneOf and as short as the limits of the inputs promise.
func checkError(t *testing.T, err error, oneOf ...error) {
	t.Helper()
	if err == nil {
		return
	}
	if !strings.HasPrefix(err.Error(), "snowflake: ") || len(err.Error()) > 1000 {
		t.Errorf("error %q, want it short and to start with the package's name", err)
	}
	for _, want := range oneOf {
		if errors.Is(err, want) {
			return
		}
	}
	t.Errorf("error %q, want one of %v", err, oneOf)
}
