package member

import (
	"errors"
	"strings"
	"testing"
)

// Who names no sequence is told what to do, once; who names none that can be, what names are.
func TestUnknownSequences(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "orders")
	for name, want := range map[string]string{
		"xyz":                    `there is no sequence "xyz": 'snowraft seq create' adds one`,
		"order":                  `there is no sequence "order", did you mean "orders"?`,
		"a b":                    `there is no sequence "a b" and can be none: names have 1 to 128 bytes of printable UTF-8 without spaces`,
		"\xff":                   `there is no sequence "\xff" and can be none: names have 1 to 128 bytes of printable UTF-8 without spaces`,
		"":                       `there is no sequence "" and can be none: names have 1 to 128 bytes of printable UTF-8 without spaces`,
		strings.Repeat("x", 129): `there is no sequence "` + strings.Repeat("x", 128) + `" and can be none: names have 1 to 128 bytes of printable UTF-8 without spaces`,
	} {
		_, err := m.Counter(t.Context(), name)
		if _, ok := errors.AsType[*UnknownSequenceError](err); !ok || err.Error() != want {
			t.Errorf("%q: %v, expected %s", name, err, want)
		}
		if _, ofSequence := m.Sequence(t.Context(), name); ofSequence == nil || ofSequence.Error() != want {
			t.Errorf("%q: %v", name, ofSequence)
		}
	}
}
