package main

import "strings"

// table is the result of a section.
type table struct {
	columns []string
	rows    [][]string
	// notes is the lines below the table: each states a target and whether it is met.
	notes []string
	// how is the description of the numbers if they are not medians of the rounds.
	how string
}

// markdown returns the table in Markdown, with its notes as a list.
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
