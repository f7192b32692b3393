package console

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxAssets is the largest total size of a page's assets, in bytes.
const maxAssets = 60_000

func TestAssetsAreSmallAndOurs(t *testing.T) {
	t.Parallel()
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	foreign := regexp.MustCompile(`https?://|innerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|@import|url\(`)
	for name, content := range a.files {
		all += len(content)
		text := strings.ReplaceAll(string(content), `xmlns="http://www.w3.org/2000/svg"`, "")
		if found := foreign.FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
		if assetTypes[name[strings.LastIndex(name, "."):]] == "" {
			t.Errorf("%s has no type", name)
		}
	}
	if all == 0 || all > maxAssets {
		t.Errorf("assets have %d bytes, want at most %d", all, maxAssets)
	}
}

// Text has a contrast of at least 4.5 with its background, and drawings one of at least 3, as WCAG AA requires.
func TestColorsHaveContrast(t *testing.T) {
	t.Parallel()
	css, err := assetFiles.ReadFile("assets/console.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark colors")
	}
	dark, _, _ = strings.Cut(dark, "\n}")
	themes := map[string]map[string]string{"light": colorsOf(light), "dark": colorsOf(dark)}
	if len(themes["light"]) != len(themes["dark"]) || len(themes["light"]) < 15 {
		t.Errorf("%d light colors and %d dark ones", len(themes["light"]), len(themes["dark"]))
	}
	for theme, colors := range themes {
		check := func(least float64, on string, names ...string) {
			for _, name := range names {
				if got := contrast(t, colors[name], colors[on]); got < least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", theme, name, on, got, least)
				}
			}
		}
		for _, on := range []string{"bg", "card", "code-bg"} {
			check(4.5, on, "ink", "dim", "accent")
		}
		check(4.5, "card", "good", "warn", "bad")
		check(4.5, "accent", "on-accent")
		for _, l := range []string{"good", "warn", "bad"} {
			check(4.5, l+"-bg", l, "ink", "accent")
		}
		check(4.5, "bad-bg", "warn", "good") // findings of other levels
		check(4.5, "warn-bg", "good")
		check(4.5, "none-bg", "ink", "dim")
		check(3, "card", "edge", "bar")
	}
}

func colorsOf(css string) map[string]string {
	colors := make(map[string]string)
	for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		colors[m[1]] = m[2]
	}
	return colors
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil {
		t.Fatal(fmt.Errorf("color %q: %w", color, err))
	}
	linear := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}
