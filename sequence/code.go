package sequence

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/ff1"
	"github.com/snowraft/snowraft/snowflake"
)

// CodeKeyBytes is the length of the key of codes.
const CodeKeyBytes = 16

// maxCodeLength is the greatest length of a code. Half of a longer one may exceed 64 bits in base 58.
const maxCodeLength = 20

// Code describes the codes that {code:ALPHABET:LENGTH} writes: all texts of one length over one alphabet. Under a key,
// each number from 0 to [Code.Max] has a code of its own, and codes of neighboring numbers are not alike. The code is
// the image of the number, written with the alphabet, under FF1 of NIST SP 800-38G with AES-128 and an empty tweak.
type Code struct {
	Encoding snowflake.Encoding // Decimal, Base32, Base36 or Base58
	Length   int                // characters of a code; at least as many as 10^6 codes need, at most 20
}

// codeAlphabets lists the names of a code's alphabets in formats.
var codeAlphabets = []struct {
	name     string
	encoding snowflake.Encoding
	radix    uint64
	least    int // number of characters that 10^6 codes need
}{
	{"digits", snowflake.Decimal, 10, 6},
	{"base32", snowflake.Base32, 32, 4},
	{"base36", snowflake.Base36, 36, 4},
	{"base58", snowflake.Base58, 58, 4},
}

const codeOptionList = "{code:ALPHABET:LENGTH} with the alphabet digits and a length of 6 to 20, or base32, base36 or base58 and a length of 4 to 20, such as {code:base32:8}"

// parseCode reads the options of {code}.
func parseCode(option string) (c Code, ok bool) {
	name, digits, _ := strings.Cut(option, ":")
	length, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || digits[0] == '0' {
		return Code{}, false
	}
	for _, a := range codeAlphabets {
		if a.name == name && int(length) >= a.least && length <= maxCodeLength {
			return Code{a.encoding, int(length)}, true
		}
	}
	return Code{}, false
}

// String returns the code as it is in formats, such as base32:8.
func (c Code) String() string {
	for _, a := range codeAlphabets {
		if a.encoding == c.Encoding {
			return a.name + ":" + strconv.Itoa(c.Length)
		}
	}
	return "Code(" + strconv.Itoa(int(c.Encoding)) + ":" + strconv.Itoa(c.Length) + ")"
}

func (c Code) radix() uint64 {
	for _, a := range codeAlphabets {
		if a.encoding == c.Encoding {
			return a.radix
		}
	}
	return 0
}

// Max returns the greatest number that has a code. No text is longer: the numbers of a sequence end there.
func (c Code) Max() int64 {
	n := uint64(1)
	for range c.Length {
		over, product := bits.Mul64(n, c.radix())
		if over != 0 || product > math.MaxInt64 {
			return math.MaxInt64
		}
		n = product
	}
	return int64(n - 1)
}

// coder writes and reads the codes under one key.
type coder struct {
	code   Code
	right  uint64 // number of the texts of the second half, which is not the shorter one
	cipher *ff1.Cipher
}

// Code returns the description of the format's codes; ok is false if the format has none.
func (f *Format) Code() (c Code, ok bool) {
	i := slices.IndexFunc(f.parts, func(p part) bool { return p.kind == code })
	if i < 0 {
		return Code{}, false
	}
	return Code{f.parts[i].encoding, f.parts[i].width}, true
}

// WithKey returns the format with the key of its codes. It returns f if f writes no codes. The format shows the key
// nowhere.
func (f *Format) WithKey(key [CodeKeyBytes]byte) (*Format, error) {
	c, ok := f.Code()
	if !ok {
		return f, nil
	}
	cipher, err := ff1.New(key[:], nil, int(c.radix()), c.Length)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidFormat, err)
	}
	right := uint64(1)
	for range c.Length - c.Length/2 {
		right *= c.radix()
	}
	keyed := *f
	keyed.coder = &coder{c, right, cipher}
	return &keyed, nil
}

// NeedsKey reports whether the format writes codes and has no key. Such a format writes and reads no texts.
func (f *Format) NeedsKey() bool {
	_, coded := f.Code()
	return coded && f.coder == nil
}

// append appends the code of a number.
func (c *coder) append(dst []byte, n int64) []byte {
	if c == nil {
		panic("sequence: a format with codes has no key")
	}
	if n < 0 || n > c.code.Max() {
		panic("sequence: a number without a code")
	}
	left, right := c.cipher.Encrypt(uint64(n)/c.right, uint64(n)%c.right)
	p := part{encoding: c.code.Encoding, zero: c.code.Encoding.Encode(0)[0]}
	p.width = c.code.Length / 2
	dst = p.appendDigits(dst, left)
	p.width = c.code.Length - c.code.Length/2
	return p.appendDigits(dst, right)
}

// number returns the number of a code; ok is false if no number has it.
func (c *coder) number(text string) (n int64, ok bool) {
	half := c.code.Length / 2
	left, err := c.code.Encoding.Decode(text[:half])
	if err != nil {
		return 0, false
	}
	right, err := c.code.Encoding.Decode(text[half:])
	if err != nil {
		return 0, false
	}
	left, right = c.cipher.Decrypt(left, right)
	over, product := bits.Mul64(left, c.right)
	if sum := product + right; over == 0 && sum >= product && sum <= math.MaxInt64 {
		return int64(sum), true
	}
	return 0, false
}
