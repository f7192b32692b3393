package nfc

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/names"
	"github.com/snowraft/snowraft/internal/test/seed"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"caf\u00e9":                   "",
		"\uac00":                      "",
		"\u0661\u0662":                "",
		"\U0001f4a0":                  "",
		"$a":                          `holder name "$a": names that begin with "$" are reserved; choose another name`,
		"cafe\u0301":                  `holder name "cafe\u0301": not in Unicode normalization form C (NFC); use "caf\u00e9"`,
		"\u1100\u1161":                `holder name "\u1100\u1161": not in Unicode normalization form C (NFC); use "\uac00"`,
		"\u212a":                      `holder name "\u212a": not in Unicode normalization form C (NFC); use "K"`,
		"a\u0323\u0301\u0327":         `holder name "a\u0323\u0301\u0327": not in Unicode normalization form C (NFC); use "\u1ea1\u0327\u0301"`,
		"\ue000":                      `holder name "\ue000": U+E000 at byte 0 is not printable in Unicode ` + unicode.Version + `; choose another name`,
		"a\u0378":                     `holder name "a\u0378": U+0378 at byte 1 is not printable in Unicode ` + unicode.Version + `; choose another name`,
		strings.Repeat("e\u0301", 43): "holder name of 129 bytes: expected 1 to 128 bytes",
	} {
		if err := Check("holder name", name); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("Check(%+q) = %v, want %s", name, err, want)
		}
	}
}

// The two tables that Check reads must have one version: otherwise the older table would take a character that
// only the newer one knows for normalized.
func TestTablesAreOfOneVersion(t *testing.T) {
	t.Parallel()
	if norm.Version != unicode.Version {
		t.Errorf("golang.org/x/text has Unicode %s, Go has %s", norm.Version, unicode.Version)
	}
}

// alike draws two texts that may well be canonically equivalent.
func alike(t *rapid.T) (a, b string) {
	parts := rapid.SampledFrom([]string{
		"e", "\u0301", "\u0327", "\u00e9", "\u1100", "\u1161", "\uac00", "\u11a8", "K", "\u212a", "\u0958", "\u0915\u093c", "$", " ", "\u200b", "\u0344",
	})
	text := func(label string) string { return strings.Join(rapid.SliceOfN(parts, 0, 6).Draw(t, label), "") }
	a = text("a")
	if rapid.Bool().Draw(t, "other") {
		return a, text("b")
	}
	return a, norm.NFD.String(a)
}

// Of all texts that are canonically equivalent, at most one is a name.
func TestEquivalentTextsAreOneName(t *testing.T) {
	t.Parallel()
	seed.Check(t, func(t *rapid.T) {
		a, b := alike(t)
		if Check("", a) == nil && Check("", b) == nil && a != b && norm.NFD.String(a) == norm.NFD.String(b) {
			t.Errorf("%+q and %+q are both names", a, b)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, name := range []string{"orders", "$orders", "cafe\u0301", "\u1100\u1161", "a\u202eb", "\U000e0041", "\xff", "\u0344"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := Check("name", name)
		if err != nil {
			if text := err.Error(); !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("the error is not printable: %q", text)
			}
			return
		}
		if err := names.Check("name", name); err != nil {
			t.Errorf("the state machine would refuse what is accepted: %v", err)
		}
		if form := norm.NFC.String(name); form != name {
			t.Errorf("%+q is accepted, and its form is %+q", name, form)
		}
		for _, r := range name {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.Z, unicode.C, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				t.Errorf("%+q has %U", name, r)
			}
		}
	})
}
