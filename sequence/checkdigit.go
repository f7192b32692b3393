package sequence

import (
	"slices"
	"strings"

	"github.com/snowraft/snowraft/snowflake"
)

// checkKind is the rule of a check digit, which is computed from the digits of the number or code alone.
type checkKind uint8

const (
	// luhn is the check digit of payment cards (ISO/IEC 7812-1), for decimal digits. It finds every wrong digit, and two
	// exchanged neighbors except 09 and 90.
	luhn checkKind = iota + 1
	// crockford is the check symbol of Crockford's base 32: the digits as a number, modulo 37. It finds every wrong
	// digit, and any two exchanged digits.
	crockford
)

// crockfordSymbols are the check symbols for 32 to 36; those below are the digits.
const crockfordSymbols = "*~$=U"

// checks lists the names of check digits in formats.
var checks = map[string]struct {
	kind     checkKind
	encoding snowflake.Encoding // encoding of the digits to which it applies
	digits   string             // digits of a code or number, in words
}{
	"luhn":      {luhn, snowflake.Decimal, "decimal digits"},
	"crockford": {crockford, snowflake.Base32, "base32"},
}

// base32 holds the digits of base 32 in the order of their values.
var base32 = func() string {
	var digits []byte
	for n := range uint64(32) {
		digits = snowflake.Base32.Append(digits, n)
	}
	return string(digits)
}()

// String returns the rule as it is in formats.
func (k checkKind) String() string {
	if k == crockford {
		return "crockford"
	}
	return "luhn"
}

// append appends the check digit of digits, which the package wrote.
func (k checkKind) append(dst, digits []byte) []byte {
	if k == crockford {
		rest := 0
		for _, digit := range digits {
			rest = (rest*32 + strings.IndexByte(base32, digit)) % 37
		}
		return append(dst, (base32 + crockfordSymbols)[rest])
	}
	sum, twice := 0, true // the digit before the check digit counts twice
	for _, character := range slices.Backward(digits) {
		digit := int(character - '0')
		if twice {
			digit = digit*2/10 + digit*2%10
		}
		sum, twice = sum+digit, !twice
	}
	return append(dst, '0'+byte((10-sum%10)%10))
}

// symbols returns the characters that a check digit can be.
func (k checkKind) symbols() string {
	if k == crockford {
		return base32 + crockfordSymbols
	}
	return "0123456789"
}
