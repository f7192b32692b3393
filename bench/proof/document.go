//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A row is a system with the outcomes of all its runs.
type row struct {
	system
	runs []outcome
}

// document writes the tables and the pictures of docs/proof.md from the outcomes under o.out. A table without any run stays the
// same.
func document(o options, out io.Writer) error {
	rows, err := outcomes(o, out)
	if err != nil {
		return err
	}
	path := filepath.Join(o.root, "docs", "proof.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, images := string(text), filepath.Join(o.root, "docs", "images")
	for _, t := range []*trial{sevenFaults, longPause, hourBack} {
		part := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.trial != t })
		if len(part) == 0 {
			continue
		}
		if page, err = insert(page, t.name, table(part)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if t.picture != "" {
			lines, err := timelines(o, part)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(images, t.picture), []byte(lines), 0o644); err != nil {
				return err
			}
		}
		if t == sevenFaults {
			if err := os.WriteFile(filepath.Join(images, "proof-duplicates.svg"), []byte(bars(part)), 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// insert returns a page with other text between the markers of this name.
func insert(page, name, text string) (string, error) {
	opening, closing := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(page, opening)
	_, after, ends := strings.Cut(rest, closing)
	if !found || !ends {
		return "", fmt.Errorf("no %s with %s after it", strings.TrimSpace(opening), closing)
	}
	return before + opening + "\n" + text + "\n" + closing + after, nil
}

// outcomes reads the outcomes of all seeds. A system without one is left out, and named.
func outcomes(o options, out io.Writer) ([]row, error) {
	var rows []row
	for _, s := range systems(o) {
		found, err := filepath.Glob(filepath.Join(o.out, "*", s.name+".json"))
		if err != nil {
			return nil, err
		}
		r := row{system: s}
		for _, path := range found {
			one, err := load(path)
			if err == nil && filepath.Base(filepath.Dir(path)) != fmt.Sprint(one.Seed) {
				err = fmt.Errorf("is of seed %d", one.Seed)
			}
			if err == nil {
				err = o.again(s, one)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			r.runs = append(r.runs, one)
		}
		if len(r.runs) == 0 {
			if _, err := fmt.Fprintf(out, "%s has not run: it is left out\n", s.name); err != nil {
				return nil, err
			}
			continue
		}
		slices.SortFunc(r.runs, func(a, b outcome) int { return cmp.Compare(a.Seed, b.Seed) })
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New(o.out + " has no outcomes; run the systems first")
	}
	return rows, nil
}

// table returns the table in Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| System | Version | Settings | Calls | Failed | Longest interruption | **Duplicates** | `ONLY=` |\n|---|---|---|---:|---:|---:|---:|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | **%s** | `%s` |\n", r.title, r.versions(), r.settings,
			r.span(func(o outcome) int64 { return int64(o.Calls) }, thousands),
			r.span(func(o outcome) int64 { return int64(o.Failed) }, thousands),
			r.span(func(o outcome) int64 { return int64(o.Longest) }, func(n int64) string { return fmt.Sprintf("%.1f s", time.Duration(n).Seconds()) }),
			r.span(func(o outcome) int64 { return int64(o.Duplicates) }, thousands), r.name)
	}
	fmt.Fprintf(&b, "\nRuns with these seeds: %s. A cell with two numbers is the range over them.\n", rows[0].seeds())
	for _, r := range rows {
		if r.seeds() != rows[0].seeds() {
			fmt.Fprintf(&b, "The seeds of `%s` are %s.\n", r.name, r.seeds())
		}
	}
	return b.String()
}

// seeds returns the seeds of all runs.
func (r row) seeds() string {
	var all []string
	for _, o := range r.runs {
		all = append(all, fmt.Sprint(o.Seed))
	}
	return strings.Join(all, ", ")
}

// versions returns the versions of all runs, which differ if the system changed between them.
func (r row) versions() string {
	var all []string
	for _, o := range r.runs {
		if !slices.Contains(all, o.Version) {
			all = append(all, o.Version)
		}
	}
	return strings.Join(all, ", ")
}

// span returns the least and the greatest value over all runs.
func (r row) span(of func(outcome) int64, text func(int64) string) string {
	var all []int64
	for _, o := range r.runs {
		all = append(all, of(o))
	}
	least, most := text(slices.Min(all)), text(slices.Max(all))
	if least == most {
		return least
	}
	return least + " to " + most
}

// median returns the median of the duplicates.
func (r row) median() int {
	var all []int
	for _, o := range r.runs {
		all = append(all, o.Duplicates)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// thousands returns n with a comma before each group of three digits.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
