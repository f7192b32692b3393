package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README is for the first reader. All other text has its own page.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, "../README.md"), "\n"); n > 250 {
		t.Errorf("README.md has %d lines, want at most 250", n)
	}
}

// A measured number in the README is a link to the section of performance.md that has the number in a cell of a table.
func TestReadmeNumbersAreMeasured(t *testing.T) {
	sections := make(map[string]string)
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(read(t, "performance.md"), -1)[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		sections[strings.ReplaceAll(strings.ToLower(heading), " ", "-")] = text
	}
	numbers := regexp.MustCompile(`\[([0-9][^\]]*)\]\(docs/performance\.md#([a-z0-9-]+)\)`).FindAllStringSubmatch(read(t, "../README.md"), -1)
	for _, n := range numbers {
		if !strings.Contains(sections[n[2]], "| "+n[1]+" |") {
			t.Errorf("README.md has %s, which no table in the section %s of performance.md has", n[1], n[2])
		}
	}
	if len(numbers) < 3 {
		t.Errorf("README.md has %d measured numbers, want at least 3", len(numbers))
	}
}

// The README promises the time without quorum in the words of guarantees.md.
func TestReadmeRepeatsGuarantee(t *testing.T) {
	const first, last = "Soon after its start", "minutes"
	words := func(path string) []string {
		_, text, found := strings.Cut(read(t, path), first)
		promise, _, ends := strings.Cut(text, last)
		if !found || !ends {
			t.Fatalf("%s has no text from %q to %q", path, first, last)
		}
		return strings.Fields(promise)
	}
	if got, want := words("../README.md"), words("guarantees.md"); !slices.Equal(got, want) {
		t.Errorf("README.md promises %q, want %q", got, want)
	}
}
