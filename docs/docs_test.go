// Package docs_test holds the documentation to the code: settings, reasons,
// metrics and links. It reads sources and what the compiler says of them, and runs nothing.
package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestConfigurationHasEverySetting(t *testing.T) {
	page := read(t, "configuration.md")
	for command, heading := range map[string]string{"serve": "\n## Settings of a member\n", "gateway": "\n## Settings of a gateway\n"} {
		_, flags, ok := strings.Cut(read(t, "../cmd/snowraft/testdata/flags.golden"), "\nsnowraft "+command+"\n")
		if !ok {
			t.Fatalf("the list of flags has no snowraft %s", command)
		}
		flags, _, _ = strings.Cut(flags, "\nsnowraft ")
		_, section, ok := strings.Cut(page, heading)
		if !ok {
			t.Fatalf("configuration.md has no section%s", heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		code, documented := make(map[string]bool), make(map[string]bool)
		for _, m := range regexp.MustCompile(`(?m)^ +--([a-z-]+)(?: [^;]+)?; env ([A-Z_]+)`).FindAllStringSubmatch(flags, -1) {
			code[m[1]+" "+m[2]] = true
		}
		for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(section, -1) {
			documented[row[1]+" "+row[2]] = true
		}
		same(t, "the settings of "+command, code, documented)
	}
}

// The index lists each page in the section of its kind, and the page begins with a sentence that names the kind.
func TestIndexListsEveryPage(t *testing.T) {
	openings := map[string]string{
		"Tutorial": "This page is a tutorial ", "How-to": "This page is a how-to ", "Reference": "This page is the reference of ", "Explanation": "This page explains ",
	}
	kinds := make(map[string]string) // sections of the index by page
	for _, section := range strings.Split(read(t, "README.md"), "\n## ")[1:] {
		heading, list, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile(`\]\(([a-z-]+\.md)\)`).FindAllStringSubmatch(list, -1) {
			kinds[m[1]] = heading
		}
	}
	for _, path := range pages(t) {
		if path == "README.md" {
			continue
		}
		_, text, _ := strings.Cut(read(t, path), "\n\n")
		if want := openings[kinds[path]]; want == "" || !strings.HasPrefix(text, want) {
			opening, _, _ := strings.Cut(text, "\n")
			t.Errorf("%s begins with %q, which does not fit the section %q of README.md", path, opening, kinds[path])
		}
	}
}

// The reference of the Go client has a row for each option that the package exports.
func TestClientPageHasEveryOption(t *testing.T) {
	api, page := read(t, "testdata/go-api.txt"), read(t, "client.md")
	exported, documented := make(map[string]bool), make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^func (With\w+)\(`).FindAllStringSubmatch(api, -1) {
		exported[m[1]] = true
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(With\\w+)` \\|").FindAllStringSubmatch(page, -1) {
		documented[m[1]] = true
	}
	same(t, "options of the client", exported, documented)
}

// The index in CONTRIBUTING.md names files that exist and identifiers that they contain.
func TestContributingIndexIsCurrent(t *testing.T) {
	_, index, ok := strings.Cut(read(t, "../CONTRIBUTING.md"), "\n## Map of the sources\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no index")
	}
	index, _, _ = strings.Cut(index, "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for row := range strings.Lines(index) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		var sources strings.Builder
		for _, path := range quoted.FindAllStringSubmatch(cells[2], -1) {
			err := filepath.WalkDir("../"+path[1], func(file string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && !strings.HasSuffix(file, "_test.go") {
					sources.WriteString(read(t, file))
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if !regexp.MustCompile(`\b` + name[1] + `\b`).MatchString(sources.String()) {
				t.Errorf("%s does not contain %s", cells[2], name[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the index has %d rows, want at least 20", rows)
	}
}

// The checks that compatibility.md names exist.
func TestCompatibilityNamesTests(t *testing.T) {
	var tests strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(read(t, "compatibility.md"), -1)
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("compatibility.md names %s, which does not exist", name[1])
		}
	}
	if len(named) < 10 {
		t.Errorf("compatibility.md names %d tests, want at least 10", len(named))
	}
}

// The page itself is compared with what a member and a gateway export, in package server.
func TestPagesNameOnlyListedMetrics(t *testing.T) {
	metric := regexp.MustCompile("`(snowraft_[a-z_]+)")
	listed := make(map[string]bool)
	for _, m := range metric.FindAllStringSubmatch(read(t, "metrics.md"), -1) {
		listed[m[1]] = true
	}
	for _, path := range append(pages(t), "../README.md") {
		for _, m := range metric.FindAllStringSubmatch(read(t, path), -1) {
			if !listed[m[1]] {
				t.Errorf("%s names %s, which metrics.md does not list", path, m[1])
			}
		}
	}
	rules := regexp.MustCompile("(?s)```(?:yaml|text)\n(.*?)```").FindAllStringSubmatch(read(t, "metrics.md"), -1)
	if len(rules) != 3 {
		t.Errorf("metrics.md has %d blocks of queries and of configuration, want 3", len(rules))
	}
	for _, block := range rules {
		for _, name := range regexp.MustCompile("snowraft_[a-z_]+").FindAllString(block[1], -1) {
			if !listed[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("a query has %s, which metrics.md does not list", name)
			}
		}
	}
}

func TestLinksLead(t *testing.T) {
	records, err := filepath.Glob("decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files := append(pages(t), "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md", "../jepsen/README.md")
	files = append(files, records...)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range files {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
}

// pages lists the files of all pages.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) < 20 {
		t.Fatalf("%d pages: %v", len(found), err)
	}
	return found
}

// anchors lists the anchors that GitHub gives to the headings of a file.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} (.+)$`).FindAllStringSubmatch(read(t, path), -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func same(t *testing.T, what string, code, documented map[string]bool) {
	t.Helper()
	if len(code) == 0 {
		t.Fatalf("%s: none found in the code", what)
	}
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if !documented[name] {
			t.Errorf("%s: %s is in the code and not documented", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !code[name] {
			t.Errorf("%s: %s is documented and not in the code", what, name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
