package snowflake

import (
	"encoding/hex"
	"fmt"
	"unicode/utf8"
)

// UUID is a universally unique identifier of RFC 9562, with its 16 bytes in the order of its text. UUIDs sort
// equally as bytes and as text.
type UUID [16]byte

const (
	uuidTextBytes = 36
	uuidExample   = "01939b3c-6d00-7000-8000-0123456789ab"

	uuidVersion = 7
	uuidVariant = 0b10 // variant of RFC 9562
)

// Version returns the version, 0 to 15; UUIDs of [Layout.UUID] have 7.
func (u UUID) Version() int { return int(u[6] >> 4) }

// String returns the text of u in lower case, such as
// 01939b3c-6d00-7000-8000-0123456789ab.
func (u UUID) String() string {
	var buf [uuidTextBytes]byte
	return string(u.Append(buf[:0]))
}

// Append appends the text of u, 36 bytes, to dst and returns the extended slice.
func (u UUID) Append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, u[:4])
	dst = hex.AppendEncode(append(dst, '-'), u[4:6])
	dst = hex.AppendEncode(append(dst, '-'), u[6:8])
	dst = hex.AppendEncode(append(dst, '-'), u[8:10])
	return hex.AppendEncode(append(dst, '-'), u[10:])
}

// ParseUUID returns the UUID of the text s: 32 hexadecimal digits of either case and hyphens, 8-4-4-4-12, with
// nothing around them. The error is an [ErrSyntax]. ParseUUID accepts any version and variant;
// [Layout.FromUUID] does not.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != uuidTextBytes {
		return UUID{}, fmt.Errorf("%w: UUID %.64q has %d bytes, expected %d, such as %s", ErrSyntax, s, len(s), uuidTextBytes, uuidExample)
	}
	digits := 0
	for i := range len(s) {
		value := alphabets[Hex].values[s[i]]
		switch hyphen := i == 8 || i == 13 || i == 18 || i == 23; {
		case hyphen && s[i] == '-':
			continue
		case hyphen:
			return UUID{}, misplaced(s, i, "a hyphen")
		case value == foreign:
			return UUID{}, misplaced(s, i, "a hexadecimal digit")
		}
		u[digits/2] = u[digits/2]<<4 | value
		digits++
	}
	return u, nil
}

func misplaced(s string, i int, expected string) error {
	_, size := utf8.DecodeRuneInString(s[i:])
	return fmt.Errorf("%w: %q at byte %d of UUID %q, expected %s, as in %s", ErrSyntax, s[i:i+size], i, s, expected, uuidExample)
}
