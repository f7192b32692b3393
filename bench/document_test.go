package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTablesReplaceTextBetweenMarkers(t *testing.T) {
	t.Parallel()
	const text = "# Title\n\n<!-- bench: one -->\n| old |\n\nMore.\n<!-- /bench -->\n\nProse.\n\n<!-- bench: two -->\n<!-- /bench -->\nEnd.\n"
	got, err := replace(text, "two", "| new |\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, err = replace(got, "one", "\n| newer |\n\nCaption.\n"); err != nil {
		t.Fatal(err)
	}
	want := "# Title\n\n<!-- bench: one -->\n\n| newer |\n\nCaption.\n\n<!-- /bench -->\n\nProse.\n\n<!-- bench: two -->\n\n| new |\n\n<!-- /bench -->\nEnd.\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	again, err := replace(got, "one", "| newer |\n\nCaption.")
	if err != nil || again != got {
		t.Errorf("replacing by the same changes %q to %q, %v", got, again, err)
	}
}

func TestInvalidMarkersRejected(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no marker":              "# Title\n",
		"no end":                 "<!-- bench: one -->\n| old |\n",
		"the end of another one": "<!-- bench: one -->\n<!-- bench: two -->\n<!-- /bench -->\n",
		"twice":                  strings.Repeat("<!-- bench: one -->\n<!-- /bench -->\n", 2),
	} {
		if got, err := replace(text, "one", "| new |"); err == nil {
			t.Errorf("%s: becomes %q, want an error", name, got)
		}
	}
}

func TestReplaceInFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("<!-- bench: one -->\n<!-- /bench -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceIn(path, "one", "| new |"); err != nil {
		t.Fatal(err)
	}
	if err := replaceIn(path, "two", "| new |"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want an error that names the file", err)
	}
	got, err := os.ReadFile(path)
	if want := "<!-- bench: one -->\n\n| new |\n\n<!-- /bench -->\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// Each section has markers in the documentation, and each pair of markers has a section.
func TestEverySectionHasItsMarkers(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, s := range sections() {
			if s.file() != filepath.Base(path) {
				continue
			}
			want++
			if _, err := replace(string(text), s.name, "| new |"); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if found := strings.Count(string(text), "<!-- bench: "); found != want {
			t.Errorf("%s has %d markers, want %d", path, found, want)
		}
	}
}
