package cli

import "testing"

// A leap second is accepted as the end of its minute, because Unix time has none.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1735689600000":               1_735_689_600_000,
		"2025-01-01T00:00:00Z":        1_735_689_600_000,
		"2025-01-01T01:00:00.5+01:00": 1_735_689_600_500,
		"2016-12-31T23:59:60Z":        1_483_228_800_000,
		"2016-12-31T23:59:60.75Z":     1_483_228_800_000,
		"2017-01-01T08:59:60+09:00":   1_483_228_800_000,
	} {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("ParseTime(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "2016-12-31T23:59:61Z", "2016-12-31T23:60:00Z", "2016-12-32T23:59:60Z"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("ParseTime(%q) = %d", text, got)
		}
	}
}
