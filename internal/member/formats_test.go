package member

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// A new format is compared with every earlier one of the name, also across deletions, because numbers were written in all of them.
// A text of each of them decodes.
func TestFormatsAreComparedWithAllEarlierOnes(t *testing.T) {
	m := openNewest(t)
	with := func(format string, start int64) func(*commandv1.SequenceSpec) {
		return func(s *commandv1.SequenceSpec) { s.Format, s.Start = format, start }
	}
	change := func(format string) error {
		_, err := m.UpdateSequence(t.Context(), "v", Update{Edit: func(s *commandv1.SequenceSpec) error { s.Format = format; return nil }})
		return err
	}
	decodes := func(text string, number int64, format string) {
		t.Helper()
		if got, err := m.DecodeText(t.Context(), "v", text); err != nil || got.Number != number || got.Format != format || got.Granting != fsm.Granted {
			t.Errorf("%q decodes to %+v, %v, want %d of %q", text, got, err, number, format)
		}
	}
	mustCreate(t, m, vouchers("v", strict, with("A{seq}", 1)), Force{})
	a := texts(t, m, "v", 1)[0]
	if err := change("B{code:digits:6}"); err != nil {
		t.Fatal(err)
	}
	b := texts(t, m, "v", 1)[0]
	for _, format := range []string{"A1{seq}", "{seq:base62}", "{code:base36:6}"} {
		if err := change(format); err == nil {
			t.Errorf("%q after %q and %q", format, a, b)
		}
	}
	if err := change("A{seq:04}"); err != nil {
		t.Errorf("back to an earlier format: %v", err)
	}
	if _, err := m.DeleteSequence(t.Context(), "v", nil); err != nil {
		t.Fatal(err)
	}
	decodes(b, 101, "B{code:digits:6}")
	mustCreate(t, m, vouchers("v", strict, with("C{seq}", 1000)), Force{})
	for _, format := range []string{"A2{seq}", "B{seq:06}"} {
		if err := change(format); !refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) || !strings.Contains(err.Error(), "can write two numbers alike") {
			t.Errorf("%q after a deletion: %v", format, err)
		}
	}
	decodes(a, 1, "A{seq}")
	decodes(b, 101, "B{code:digits:6}")
	if _, err := m.DecodeText(t.Context(), "v", "D1"); !errors.Is(err, sequence.ErrInvalidText) {
		t.Errorf("a text of no format: %v", err)
	}
}
