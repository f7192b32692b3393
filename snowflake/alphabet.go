package snowflake

import (
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// alphabet holds the digits of an encoding, in the order of their values.
type alphabet struct {
	name   string
	digits string
	values [256]uint8 // indexed by byte; foreign if the byte is not a digit
}

const foreign = math.MaxUint8

var alphabets = [...]*alphabet{
	Decimal: newAlphabet("dec", "0123456789"),
	Hex:     newAlphabet("hex", "0123456789abcdef").alias("ABCDEF", 10),
	Base32: newAlphabet("base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ").alias("abcdefghjkmnpqrstvwxyz", 10).
		alias("O", 0).alias("o", 0).alias("I", 1).alias("i", 1).alias("L", 1).alias("l", 1),
	Base36: newAlphabet("base36", "0123456789abcdefghijklmnopqrstuvwxyz").alias("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 10),
	Base58: newAlphabet("base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
	Base62: newAlphabet("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
}

func newAlphabet(name, digits string) *alphabet {
	a := &alphabet{name: name, digits: digits}
	for i := range a.values {
		a.values[i] = foreign
	}
	return a.alias(digits, 0)
}

// alias adds characters that decode to the values from first on.
func (a *alphabet) alias(characters string, first uint8) *alphabet {
	for i := range len(characters) {
		a.values[characters[i]] = first + uint8(i)
	}
	return a
}

func (a *alphabet) append(dst []byte, n uint64) []byte {
	base := uint64(len(a.digits))
	var buf [13]byte // longest text in base 32, the smallest base written here
	i := len(buf)
	for {
		i--
		buf[i] = a.digits[n%base]
		n /= base
		if n == 0 {
			return append(dst, buf[i:]...)
		}
	}
}

// parse returns the number whose digits start at byte skip of s.
func (a *alphabet) parse(s string, skip int) (uint64, error) {
	base := uint64(len(a.digits))
	var n uint64
	for i := skip; i < len(s); i++ {
		value := a.values[s[i]]
		if value == foreign {
			_, size := utf8.DecodeRuneInString(s[i:])
			return 0, fmt.Errorf("%w: %q at byte %d of ID %q is not a %s digit, expected %s", ErrSyntax, s[i:i+size], i, s, a.name, a.digits)
		}
		over, product := bits.Mul64(n, base)
		sum, carry := bits.Add64(product, uint64(value), 0)
		if over != 0 || carry != 0 {
			return 0, fmt.Errorf("%w: ID %q in %s exceeds 64 bits, expected at most %d", ErrOutOfRange, s, a.name, uint64(math.MaxUint64))
		}
		n = sum
	}
	return n, nil
}
