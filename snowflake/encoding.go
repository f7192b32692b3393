package snowflake

import (
	"fmt"
	"strconv"
	"strings"
)

// Encoding is a way to write an ID as text: a number in some base, the most significant digit first, without
// padding. The zero Encoding is Decimal.
//
// The digits of every encoding are in ASCII order. Texts of equal length, as written by [Encoding.Encode],
// therefore sort as their IDs do.
type Encoding uint8

const (
	// Decimal has the digits 0-9.
	Decimal Encoding = iota
	// Hex has the digits 0-9a-f. Decoding takes either case and a prefix 0x.
	Hex
	// Base32 is Crockford's (https://www.crockford.com/base32.html): 0-9A-Z without
	// I, L, O and U. Decoding takes either case, I and L for 1 and O for 0; it does
	// not take hyphens or a check symbol.
	Base32
	// Base36 has the digits 0-9a-z. Decoding takes either case.
	Base36
	// Base58 has Bitcoin's digits: 1-9A-Za-z without I, O and l. The text is the number in base 58, not the
	// byte string that Base58Check would write.
	Base58
	// Base62 has the digits 0-9A-Za-z.
	Base62
)

// maxTextBytes is the greatest length of a text that Decode reads. The longest ID has 20 digits; the rest
// leaves room for leading zeros.
const maxTextBytes = 64

// Encodings returns all encodings, from the smallest base to the largest.
func Encodings() []Encoding { return []Encoding{Decimal, Hex, Base32, Base36, Base58, Base62} }

func (e Encoding) known() bool { return int(e) < len(alphabets) }

// String returns the encoding's name, as [ParseEncoding] reads it: dec, hex, base32,
// base36, base58 or base62.
func (e Encoding) String() string {
	if !e.known() {
		return "Encoding(" + strconv.Itoa(int(e)) + ")"
	}
	return alphabets[e].name
}

// ParseEncoding returns the encoding of that name: dec, hex, base32, base36, base58 or
// base62. Any other text is an [ErrSyntax].
func ParseEncoding(s string) (Encoding, error) {
	for _, e := range Encodings() {
		if alphabets[e].name == s {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown encoding %.64q, expected dec, hex, base32, base36, base58 or base62", ErrSyntax, s)
}

// Encode returns id as text. An Encoding that is not one of the constants writes decimal.
func (e Encoding) Encode(id uint64) string {
	var buf [20]byte // the longest: decimal
	return string(e.Append(buf[:0], id))
}

// Append appends id as text to dst and returns the extended slice.
func (e Encoding) Append(dst []byte, id uint64) []byte {
	switch e {
	case Hex:
		return strconv.AppendUint(dst, id, 16)
	case Base36:
		return strconv.AppendUint(dst, id, 36)
	case Base32, Base58, Base62:
		return alphabets[e].append(dst, id)
	default:
		return strconv.AppendUint(dst, id, 10)
	}
}

// Decode returns the ID of the text s. It is strict: s must consist of 1 to 64 bytes of the encoding's digits,
// with no sign, space or separator. Otherwise the error is an [ErrSyntax]. It is an [ErrOutOfRange] if the
// number exceeds 64 bits. Leading zeros are accepted, because some systems pad their IDs.
func (e Encoding) Decode(s string) (uint64, error) {
	if !e.known() {
		return 0, fmt.Errorf("%w: cannot decode with unknown %v", ErrSyntax, e)
	}
	if len(s) > maxTextBytes {
		return 0, fmt.Errorf("%w: ID of %d bytes, expected at most %d", ErrSyntax, len(s), maxTextBytes)
	}
	skip := 0
	if e == Hex && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")) {
		skip = len("0x")
	}
	if len(s) == skip {
		return 0, fmt.Errorf("%w: ID %q has no digits, expected at least one %v digit", ErrSyntax, s, e)
	}
	return alphabets[e].parse(s, skip)
}
