package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// printer writes the answer of a command.
type printer struct {
	w     io.Writer
	json  bool
	style style
}

func (a *app) printer(output string) *printer {
	_, colours := a.terminal(a.stdout)
	return &printer{w: a.stdout, json: output == outputJSON, style: style{colours}}
}

// answer writes doc as one line of JSON, or blocks as text with an empty line
// between each two.
func (p *printer) answer(doc any, blocks ...block) error {
	w := bufio.NewWriter(p.w)
	if p.json {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(doc); err != nil {
			return err
		}
		return w.Flush()
	}
	for i, b := range blocks {
		if i > 0 {
			fmt.Fprintln(w)
		}
		b(w, p.style)
	}
	return w.Flush()
}

// block is a part of an answer in text. What goes wrong when it writes is
// remembered by the printer's buffer.
type block func(io.Writer, style)

// line is a line of text.
func line(format string, args ...any) block {
	return func(w io.Writer, _ style) { fmt.Fprintf(w, format+"\n", args...) }
}

// pair is one labelled value of a record.
type pair struct{ label, value string }

// record lists labelled values; those without a value are left out.
func record(pairs ...pair) block {
	return func(w io.Writer, _ style) {
		t := newTable(w)
		for _, p := range pairs {
			if p.value != "" {
				fmt.Fprintf(t, "%s\t%s\n", p.label, p.value)
			}
		}
		_ = t.Flush()
	}
}

// column is one column of a table of rows R.
type column[R any] struct {
	title string
	cell  func(R) string
}

// table lists rows under a heading.
func table[R any](rows []R, columns ...column[R]) block {
	return func(w io.Writer, s style) {
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
		fmt.Fprintf(w, "%s\n%s", s.bold(string(heading)), rest)
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

// appendJSON appends text as a JSON string.
func appendJSON(dst, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			var quoted bytes.Buffer
			encoder := json.NewEncoder(&quoted)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(string(text)) // neither a string nor a buffer fails
			return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// listWriter is how lists that may be long are written as they come: one element a line,
// or within a JSON document.
type listWriter struct {
	w    *bufio.Writer
	json bool
	buf  []byte
	any  bool // element was written
	err  error
}

func newListWriter(out *printer) listWriter {
	return listWriter{w: bufio.NewWriterSize(out.w, 64<<10), json: out.json}
}

func (w *listWriter) flush() {
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
}

// close ends the document and returns what went wrong when writing.
func (w *listWriter) close() error {
	if w.json {
		_, _ = io.WriteString(w.w, "]}\n")
	}
	w.flush()
	return w.err
}
