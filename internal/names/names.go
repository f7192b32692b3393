// Package names holds the rule for the names of sequences, holders and members, and for texts about them.
//
// The rule is part of the state machine: replicas must agree about every name, whichever version of Go they were
// built with. So the rule reads no tables of Unicode, which differ between versions: the parts that it needs are
// written out. Package nfc holds the rule for new names, which reads the tables. [Check] is the rule for names.
package names

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
)

// reserved begins the names that are kept for Snowraft itself.
const reserved = "$"

// Check returns an error unless name has 1 to 128 bytes of visible UTF-8 and is not reserved. The error begins
// with noun.
func Check(noun, name string) error {
	if name == "" || len(name) > limits.NameBytes {
		return fmt.Errorf("%s of %d bytes: expected 1 to %d bytes", noun, len(name), limits.NameBytes)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%s %q: expected UTF-8", noun, name)
	}
	if strings.HasPrefix(name, reserved) {
		return fmt.Errorf("%s %q: names that begin with %q are reserved; choose another name", noun, name, reserved)
	}
	for i, r := range name {
		if invisible(r) {
			return fmt.Errorf("%s %+q: %U at byte %d is a space or invisible; use visible characters", noun, name, r, i)
		}
	}
	return nil
}

// CheckText returns an error unless text, which may be empty, is UTF-8 without control characters, ends of lines and
// changes of direction. The error begins with noun.
func CheckText(noun, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s %q: expected UTF-8", noun, text)
	}
	for i, r := range text {
		if Control(r) {
			return fmt.Errorf("%s %+q: %U at byte %d is a control character; remove it", noun, text, r, i)
		}
	}
	return nil
}

// Control reports whether r is a control, a line separator, or changes the direction of other characters.
func Control(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x061c:
	case r >= 0x200e && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
	default:
		return false
	}
	return true
}

// invisible reports whether r is a space, or a code point that shows nothing of its own: a control, a mark of
// direction, a filler, a selector of variants, a tag, or not a character.
func invisible(r rune) bool {
	switch {
	case r <= 0x20, r >= 0x7f && r <= 0xa0, r == 0xad:
	case r == 0x034f, r == 0x061c, r >= 0x115f && r <= 0x1160, r == 0x1680:
	case r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f:
	case r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f:
	case r == 0x2800, r == 0x3000, r == 0x3164:
	case r >= 0xfdd0 && r <= 0xfdef, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb:
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
	case r >= 0xe0000 && r <= 0xe0fff, r&0xfffe == 0xfffe:
	default:
		return false
	}
	return true
}
