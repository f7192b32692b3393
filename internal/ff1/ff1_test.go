package ff1

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

// The samples of NIST for FF1, which belong to SP 800-38G:
// https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/FF1samples.pdf
var samples = []struct {
	key, tweak   string
	radix        int
	plain, image string
}{
	{key128, "", 10, "0123456789", "2433477484"},
	{key128, "39383736353433323130", 10, "0123456789", "6124200773"},
	{key128, "3737373770717273373737", 36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
	{key192, "", 10, "0123456789", "2830668132"},
	{key192, "39383736353433323130", 10, "0123456789", "2496655549"},
	{key192, "3737373770717273373737", 36, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
	{key256, "", 10, "0123456789", "6657667009"},
	{key256, "39383736353433323130", 10, "0123456789", "1001623463"},
	{key256, "3737373770717273373737", 36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
}

const (
	key128 = "2b7e151628aed2a6abf7158809cf4f3c"
	key192 = key128 + "ef4359d8d580aa4f"
	key256 = key192 + "7f036d6f04fc6a94"
)

func TestSamplesOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		c, err := New(unhex(t, s.key), unhex(t, s.tweak), s.radix, len(s.plain))
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, s.radix, len(s.plain), s.plain, c.Encrypt); got != s.image {
			t.Errorf("key %s, tweak %q: Encrypt(%s) = %s, want %s", s.key, s.tweak, s.plain, got, s.image)
		}
		if got := written(t, s.radix, len(s.plain), s.image, c.Decrypt); got != s.plain {
			t.Errorf("key %s, tweak %q: Decrypt(%s) = %s, want %s", s.key, s.tweak, s.image, got, s.plain)
		}
	}
}

func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// written applies a permutation to a string of numerals.
func written(t *testing.T, radix, length int, text string, permute func(left, right uint64) (uint64, uint64)) string {
	t.Helper()
	half := func(text string) uint64 {
		n, err := strconv.ParseUint(text, radix, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	left, right := permute(half(text[:length/2]), half(text[length/2:]))
	digits := func(n uint64, length int) string {
		text := strconv.FormatUint(n, radix)
		return strings.Repeat("0", length-len(text)) + text
	}
	return digits(left, length/2) + digits(right, length-length/2)
}

// All six-digit strings have different images, and each image leads back.
func TestPermutesTheWholeDomain(t *testing.T) {
	t.Parallel()
	c, err := New(unhex(t, key128), nil, 10, 6)
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, MinStrings)
	for n := range uint64(MinStrings) {
		left, right := c.Encrypt(n/1000, n%1000)
		if left >= 1000 || right >= 1000 {
			t.Fatalf("Encrypt(%d) = %d, %d", n, left, right)
		}
		if seen[left*1000+right] {
			t.Fatalf("the image %03d%03d appears twice", left, right)
		}
		seen[left*1000+right] = true
		if left, right = c.Decrypt(left, right); left*1000+right != n {
			t.Fatalf("Decrypt(Encrypt(%d)) = %03d%03d", n, left, right)
		}
	}
}

// The reference follows the steps of the standard with big integers.
func TestAgreesWithTheSteps(t *testing.T) {
	t.Parallel()
	seed.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key")
		tweak := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "tweak")
		radix := rapid.SampledFrom([]int{2, 3, 10, 16, 26, 32, 36, 58, 62, 255, 256, 257, 1 << 16}).Draw(t, "radix")
		length := rapid.IntRange(2, 130).Draw(t, "length")
		c, err := New(key, tweak, radix, length)
		size := func(length int) *big.Int {
			return new(big.Int).Exp(big.NewInt(int64(radix)), big.NewInt(int64(length)), nil)
		}
		fits := size(length-length/2).IsUint64() && size(length).Cmp(big.NewInt(MinStrings)) >= 0
		if fits != (err == nil) {
			t.Fatalf("New(radix %d, length %d): %v, want fits %v", radix, length, err, fits)
		}
		if !fits {
			return
		}
		left := rapid.Uint64Range(0, c.left-1).Draw(t, "left")
		right := rapid.Uint64Range(0, c.right-1).Draw(t, "right")
		gotLeft, gotRight := c.Encrypt(left, right)
		wantLeft, wantRight := reference(t, key, tweak, radix, length, left, right)
		if gotLeft != wantLeft || gotRight != wantRight {
			t.Fatalf("Encrypt(%d, %d) = %d, %d, want %d, %d", left, right, gotLeft, gotRight, wantLeft, wantRight)
		}
		if backLeft, backRight := c.Decrypt(gotLeft, gotRight); backLeft != left || backRight != right {
			t.Fatalf("Decrypt(Encrypt(%d, %d)) = %d, %d", left, right, backLeft, backRight)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	key := unhex(t, key128)
	for _, c := range []struct {
		name          string
		key           []byte
		radix, length int
	}{
		{"999,999 strings at most", key, 10, 5},
		{"one numeral", key, 1 << 16, 1},
		{"radix 1", key, 1, 30},
		{"radix beyond 2^16", key, 1<<16 + 1, 4},
		{"long halves", key, 10, 40},
		{"a half of exactly 2^64", key, 2, 128},
		{"short key", key[:15], 10, 6},
	} {
		if _, err := New(c.key, nil, c.radix, c.length); err == nil || !strings.HasPrefix(err.Error(), "ff1: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func BenchmarkEncrypt(b *testing.B) {
	c, err := New(unhex(b, key128), nil, 32, 8)
	if err != nil {
		b.Fatal(err)
	}
	for n := uint64(0); b.Loop(); n++ {
		c.Encrypt(0, n)
	}
}
