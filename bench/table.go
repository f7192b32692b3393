package main

import "strings"

// table is what a section measured.
type table struct {
	columns []string
	rows    [][]string
	// notes stand below, a line each: targets and whether they are met.
	notes []string
	// how says what the numbers are, if they are not medians of the rounds.
	how string
}

// markdown writes the table, and its notes as a list.
func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	line(t.columns)
	b.WriteString(strings.Repeat("|---", len(t.columns)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	for i, note := range t.notes {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString("- " + note + "\n")
	}
	return b.String()
}
