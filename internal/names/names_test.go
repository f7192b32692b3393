package names

import (
	"strings"
	"testing"
	"unicode"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                      "",
		"shop/orders:2.é-あ":      "",
		"a$":                     "",
		strings.Repeat("é", 64):  "",
		"":                       "sequence name of 0 bytes: expected 1 to 128 bytes",
		strings.Repeat("x", 129): "sequence name of 129 bytes: expected 1 to 128 bytes",
		"\xff":                   `sequence name "\xff": expected UTF-8`,
		"$":                      `sequence name "$": names that begin with "$" are reserved; choose another name`,
		"$orders":                `sequence name "$orders": names that begin with "$" are reserved; choose another name`,
		"a b":                    `sequence name "a b": U+0020 at byte 1 is a space or invisible; use visible characters`,
		"a\u202eb":               `sequence name "a\u202eb": U+202E at byte 1 is a space or invisible; use visible characters`,
		"\U000e0041":             `sequence name "\U000e0041": U+E0041 at byte 0 is a space or invisible; use visible characters`,
	} {
		if err := Check("sequence name", name); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("Check(%q) = %v, want %s", name, err, want)
		}
	}
}

// The list of characters is written out, because replicas must agree. The test compares the list with this
// version's tables. A character that fails is new: extend the list, and raise fsm_version for that.
func TestInvisibleHasWhatUnicodeLists(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		listed := unicode.In(r, unicode.Cc, unicode.Z, unicode.White_Space, unicode.Bidi_Control, unicode.Join_Control,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
		if listed && !invisible(r) {
			t.Errorf("invisible(%U) = false, want true", r)
		}
		if invisible(r) && !listed && unicode.In(r, unicode.L, unicode.N, unicode.P) {
			t.Errorf("invisible(%U) = true, want false", r)
		}
	}
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"what we sold, since 2026": "",
		"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f680 \u2764\ufe0f": "", // joiners and a selector
		"\xff":     `description "\xff": expected UTF-8`,
		"a\nb":     `description "a\nb": U+000A at byte 1 is a control character; remove it`,
		"\x1b[2J":  `description "\x1b[2J": U+001B at byte 0 is a control character; remove it`,
		"a\u0085":  `description "a\u0085": U+0085 at byte 1 is a control character; remove it`,
		"a\u2028":  `description "a\u2028": U+2028 at byte 1 is a control character; remove it`,
		"a\u2066b": `description "a\u2066b": U+2066 at byte 1 is a control character; remove it`,
	} {
		if err := CheckText("description", text); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("CheckText(%+q) = %v, want %s", text, err, want)
		}
	}
}

// As TestInvisibleHasWhatUnicodeLists.
func TestControlHasWhatUnicodeLists(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if want := unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control); Control(r) != want {
			t.Errorf("Control(%U) = %t, want %t", r, !want, want)
		}
	}
}
