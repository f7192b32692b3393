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

// The list of characters is written out, since replicas must agree; here it is compared with this version's
// tables. A character that fails is new: extend the list, and raise fsm_version for that.
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
