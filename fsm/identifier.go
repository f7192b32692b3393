package fsm

import (
	"fmt"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
)

const nonceBytes = 16

// CheckHolder returns why AcquireWorker would refuse the name of a holder, or nil.
func CheckHolder(name string) error { return checkName("a holder's name", name) }

// CheckSequenceName returns why CreateSequence would refuse the name of a sequence, or nil.
func CheckSequenceName(name string) error { return checkName("a sequence's name", name) }

// checkName checks the name of a holder or a sequence, or the ID of a member: 1 to 128 bytes
// of visible UTF-8. The noun begins the error.
func checkName(noun, s string) error {
	if s == "" || len(s) > limits.NameBytes {
		return fmt.Errorf("%s of %d bytes, expected 1 to %d", noun, len(s), limits.NameBytes)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q, expected UTF-8", noun, s)
	}
	for i, r := range s {
		if invisible(r) {
			return fmt.Errorf("%s %q, expected no space and no control character, but there is one at byte %d", noun, s, i)
		}
	}
	return nil
}

// invisible reports whether r is a space, a control or a formatting character. The
// list is written out because package unicode follows Unicode, so that two builds
// may differ about a character, and replicas must not.
func invisible(r rune) bool {
	switch {
	case r <= 0x20, r >= 0x7f && r <= 0xa0, r == 0xad:
	case r == 0x061c, r == 0x1680, r == 0x180e:
	case r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f:
	case r == 0x3000, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
	default:
		return false
	}
	return true
}

// copyNonce returns a nonce and whether it has its 16 bytes.
func copyNonce(b []byte) (nonce [nonceBytes]byte, ok bool) {
	if len(b) != nonceBytes {
		return nonce, false
	}
	return [nonceBytes]byte(b), true
}
