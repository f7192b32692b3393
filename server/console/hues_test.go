package console

import (
	"regexp"
	"strings"
	"testing"
)

// The marks of an ID's fields have a contrast of at least 3 with the card behind them, as WCAG AA requires.
func TestHuesHaveContrast(t *testing.T) {
	t.Parallel()
	read := func(name string) (light, dark string) {
		css, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		light, dark, _ = strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
		dark, _, _ = strings.Cut(dark, "\n}")
		return light, dark
	}
	lightCard, darkCard := read("console.css")
	light, dark := read("id.css")
	for _, theme := range []struct{ name, card, hues string }{
		{"light", colorsOf(lightCard)["card"], light}, {"dark", colorsOf(darkCard)["card"], dark},
	} {
		found := regexp.MustCompile(`\.(f-\w+) \{ --hue: (#[0-9a-f]{6});`).FindAllStringSubmatch(theme.hues, -1)
		if len(found) != 4 {
			t.Errorf("%s: %d hues, want 4", theme.name, len(found))
		}
		for _, m := range found {
			if got := contrast(t, m[2], theme.card); got < 3 {
				t.Errorf("%s: %s on a card has a contrast of %.2f, want 3", theme.name, m[1], got)
			}
		}
	}
}
