package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/snowraft/snowraft/internal/names"
)

// Table returns a block with a heading and the cells of each row. An empty cell is a dash. On a terminal that is narrower than a
// line, each row is a [Record].
func Table[R any](rows []R, heading []string, cells func(R) []any) Block {
	return func(w io.Writer, s Style) {
		titles, rest := aligned(rows, heading, cells)
		if len(rows) > 0 && !(fits(titles, s.Columns) && fits(string(rest), s.Columns)) {
			records(w, s, rows, heading, cells)
			return
		}
		fmt.Fprintf(w, "%s\n%s", s.Bold(titles), rest)
	}
}

// records writes each row as a record, with an empty line between two.
func records[R any](w io.Writer, s Style, rows []R, heading []string, cells func(R) []any) {
	for n, row := range rows {
		if n > 0 {
			fmt.Fprintln(w)
		}
		var pairs []any
		for i, cell := range cells(row) {
			pairs = append(pairs, heading[i], cell)
		}
		Record(pairs...)(w, s)
	}
}

// aligned returns the line of a table's heading, and the lines of its rows.
func aligned[R any](rows []R, heading []string, cells func(R) []any) (titles string, rest []byte) {
	var text bytes.Buffer
	t := newTable(&text)
	fmt.Fprintln(t, strings.Join(heading, "\t"))
	for _, row := range rows {
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cmp.Or(escape(fmt.Sprint(cell), names.Control), "-"))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
	line, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	return string(line), rest
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// AnswerEach writes one answer as a record and several as a table; in JSON, it writes one document each.
func AnswerEach[T any](out *Printer, all []T, record func(T) Block, heading []string, row func(T) []any) error {
	switch {
	case out.JSON:
		for _, one := range all {
			if err := out.Answer(one); err != nil {
				return err
			}
		}
		return nil
	case len(all) == 1:
		return out.Answer(nil, record(all[0]))
	default:
		return out.Answer(nil, Table(all, heading, row))
	}
}
