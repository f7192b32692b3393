package member

import (
	"errors"
	"strings"
	"testing"
)

// The error of an unknown name says once what to do. The error of an impossible name says what names are.
func TestUnknownSequences(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "orders")
	for name, want := range map[string]string{
		"xyz":                    `sequence "xyz" does not exist; create it with "snowraft seq create xyz"`,
		"shop/äöü:1":             `sequence "shop/äöü:1" does not exist; create it with "snowraft seq create shop/äöü:1"`,
		"a;reboot":               `sequence "a;reboot" does not exist; create it with "snowraft seq create NAME"`,
		"--force":                `sequence "--force" does not exist; create it with "snowraft seq create NAME"`,
		"order":                  `sequence "order" does not exist; use "orders", or create it with "snowraft seq create order"`,
		"a b":                    `unknown sequence: sequence name "a b": U+0020 at byte 1 is a space or invisible; use visible characters`,
		"\xff":                   `unknown sequence: sequence name "\xff": expected UTF-8`,
		"":                       `unknown sequence: sequence name of 0 bytes: expected 1 to 128 bytes`,
		strings.Repeat("x", 129): `unknown sequence: sequence name of 129 bytes: expected 1 to 128 bytes`,
		"cafe\u0301":             `unknown sequence: sequence name "cafe\u0301": not in Unicode normalization form C (NFC); use "caf\u00e9"`,
	} {
		_, err := m.Counter(t.Context(), name)
		if _, ok := errors.AsType[*UnknownSequenceError](err); !ok || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
		if _, ofSequence := m.Sequence(t.Context(), name); ofSequence == nil || ofSequence.Error() != want {
			t.Errorf("%q: %v", name, ofSequence)
		}
	}
}
