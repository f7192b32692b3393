package cli

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
)

// TableColumn is one column of a table of rows R.
type TableColumn[R any] struct {
	title string
	cell  func(R) string
}

// Column returns the column with this title whose cells have the text that cell returns.
func Column[R any](title string, cell func(R) string) TableColumn[R] {
	return TableColumn[R]{title, cell}
}

// Table lists rows under a heading.
func Table[R any](rows []R, columns ...TableColumn[R]) Block {
	return func(w io.Writer, s Style) {
		var text bytes.Buffer
		t := newTable(&text)
		for i, c := range columns {
			writeCell(t, i == len(columns)-1, c.title)
		}
		for _, row := range rows {
			for i, c := range columns {
				writeCell(t, i == len(columns)-1, c.cell(row))
			}
		}
		_ = t.Flush()
		heading, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
		fmt.Fprintf(w, "%s\n%s", s.Bold(string(heading)), rest)
	}
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func writeCell(w io.Writer, last bool, text string) {
	if text == "" {
		text = "-"
	}
	end := "\t"
	if last {
		end = "\n"
	}
	fmt.Fprint(w, text, end)
}
