//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The markers in docs/proof.md between which the table stands.
const (
	opening = "<!-- proof -->\n"
	closing = "<!-- /proof -->"
)

// A row is a system with the outcomes of all its runs.
type row struct {
	system
	runs []outcome
}

// document writes the table and the pictures of docs/proof.md from the outcomes under o.out.
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
	before, rest, found := strings.Cut(string(text), opening)
	_, after, ends := strings.Cut(rest, closing)
	if !found || !ends {
		return fmt.Errorf("%s has no %s and %s after it", path, strings.TrimSpace(opening), closing)
	}
	if err := os.WriteFile(path, []byte(before+opening+"\n"+table(rows)+"\n"+closing+after), 0o644); err != nil {
		return err
	}
	images := filepath.Join(o.root, "docs", "images")
	if err := os.WriteFile(filepath.Join(images, "proof-duplicates.svg"), []byte(bars(rows)), 0o644); err != nil {
		return err
	}
	lines, err := timelines(o, rows)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(images, "proof-timelines.svg"), []byte(lines), 0o644)
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
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			var one outcome
			if err := json.Unmarshal(text, &one); err != nil {
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
	b.WriteString("| System | Version | Settings | Calls | Failed | Longest interruption | **Duplicates** |\n|---|---|---|---:|---:|---:|---:|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | **%s** |\n", r.title, r.runs[0].Version, r.settings,
			r.span(func(o outcome) int64 { return int64(o.Calls) }, thousands),
			r.span(func(o outcome) int64 { return int64(o.Failed) }, thousands),
			r.span(func(o outcome) int64 { return int64(o.Longest) }, func(n int64) string { return fmt.Sprintf("%.1f s", time.Duration(n).Seconds()) }),
			r.span(func(o outcome) int64 { return int64(o.Duplicates) }, thousands))
	}
	seeds := make([]string, 0, len(rows[0].runs))
	for _, o := range rows[0].runs {
		seeds = append(seeds, fmt.Sprint(o.Seed))
	}
	fmt.Fprintf(&b, "\nRuns with these seeds: %s. A cell with two numbers is the range over them.\n", strings.Join(seeds, ", "))
	return b.String()
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
