package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table returns a block with a heading and the cells of each row. An empty cell is a dash.
func Table[R any](rows []R, heading []string, cells func(R) []any) Block {
	return func(w io.Writer, s Style) {
		var text bytes.Buffer
		t := newTable(&text)
		fmt.Fprintln(t, strings.Join(heading, "\t"))
		for _, row := range rows {
			for i, cell := range cells(row) {
				if i > 0 {
					fmt.Fprint(t, "\t")
				}
				fmt.Fprint(t, cmp.Or(fmt.Sprint(cell), "-"))
			}
			fmt.Fprintln(t)
		}
		_ = t.Flush()
		titles, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
		fmt.Fprintf(w, "%s\n%s", s.Bold(string(titles)), rest)
	}
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }
