package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// outcome is the result of a scenario with a client.
type outcome struct {
	scenario, client string
	passed, skipped  bool
}

// results holds the outcomes of a run.
type results struct {
	out       io.Writer
	clients   []client
	scenarios []scenario
	mu        sync.Mutex
	all       []outcome // guarded by mu
}

func (r *results) add(s scenario, c client, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, outcome{scenario: s.name, client: c.name, passed: err == nil})
	word, why := "pass", ""
	if err != nil {
		word, why = "FAIL", ": "+strings.ReplaceAll(err.Error(), "\n", "\n     ")
	}
	fmt.Fprintf(r.out, "%s  %-22s %-12s %6.1f s%s\n", word, s.name, c.name, took.Seconds(), why)
}

func (r *results) skip(s scenario, c client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, outcome{scenario: s.name, client: c.name, skipped: true})
	fmt.Fprintf(r.out, "n/a   %-22s %s\n", s.name, c.name)
}

func (r *results) failed() (n int) {
	for _, o := range r.all {
		if !o.passed && !o.skipped {
			n++
		}
	}
	return n
}

func (r *results) passed() (n int) {
	for _, o := range r.all {
		if o.passed {
			n++
		}
	}
	return n
}

// The marks of the table in a page.
const begin, end = "<!-- conformance -->", "<!-- end of conformance -->"

// write replaces the table in a page.
func (r *results) write(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		return fmt.Errorf("%s has no place for the table: %s and %s", page, begin, end)
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s%s\n\n%s\n%s%s", before, begin, r.table(), end, after), 0o644) //nolint:gosec // a page of the sources
}

// table returns the outcomes as Markdown.
func (r *results) table() string {
	var b strings.Builder
	b.WriteString("| what |")
	for _, c := range r.clients {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(r.clients)) + "\n")
	for _, s := range r.scenarios {
		b.WriteString("| " + s.about + " |")
		for _, c := range r.clients {
			b.WriteString(" " + r.cell(s, c) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *results) cell(s scenario, c client) string {
	for _, o := range r.all {
		if o.scenario == s.name && (o.client == c.name || s.together != nil) {
			switch {
			case o.skipped:
				return "–"
			case o.passed:
				return "yes"
			}
		}
	}
	return "no"
}
