package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/names"
)

// The choices of --output.
const (
	OutputText = "text"
	OutputJSON = "json"
	OutputCSV  = "csv" // only some commands offer it
)

// wantsJSON reports whether a command line, which may be wrong, requests JSON.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-o" + OutputJSON, "-o=" + OutputJSON, "--output=" + OutputJSON:
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == OutputJSON {
				return true
			}
		}
	}
	return false
}

// Printer writes the answer of a command to standard output.
type Printer struct {
	w     io.Writer
	JSON  bool
	CSV   bool
	Style Style
}

// Printer returns a printer to standard output, in the format that --output names.
func (a *App) Printer(output string) *Printer {
	_, style := a.Terminal(a.Stdout)
	style.Columns = a.Columns()
	return &Printer{w: a.Stdout, JSON: output == OutputJSON, CSV: output == OutputCSV, Style: style}
}

// Answer writes doc as one line of JSON, or blocks as text with an empty line between blocks. doc is the
// response of the API, or a document that follows the conventions of docs/json.md.
func (p *Printer) Answer(doc any, blocks ...Block) error {
	if p.JSON {
		return p.json(doc)
	}
	var text strings.Builder
	for i, b := range blocks {
		if i > 0 {
			text.WriteByte('\n')
		}
		b(&text, p.Style)
	}
	_, err := io.WriteString(p.w, Visible(text.String()))
	return err
}

func (p *Printer) json(doc any) error {
	m, ok := doc.(proto.Message)
	if !ok {
		encoder := json.NewEncoder(p.w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(doc)
	}
	line, err := apijson.Marshal(m)
	if err != nil {
		return err
	}
	_, err = p.w.Write(append(line, '\n'))
	return err
}

// Raw writes output of a form of its own.
func (p *Printer) Raw(write func(io.Writer) error) error { return write(p.w) }

// Lines writes texts, one per line.
func (p *Printer) Lines(texts iter.Seq[[]byte]) error {
	w := bufio.NewWriterSize(p.w, 64<<10)
	for text := range texts {
		_, _ = w.Write(text) // bufio remembers the error for Flush
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}

// Block writes a part of an answer as text. It ignores errors of writing, because it writes to memory.
type Block func(io.Writer, Style)

// Line returns a block with one line of text.
func Line(format string, args ...any) Block {
	return func(w io.Writer, s Style) {
		for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			fmt.Fprintln(w, strings.Join(fold(line, s.Columns), "\n"))
		}
	}
}

// Indented returns a block with text on lines that begin with indent.
func Indented(indent, text string) Block {
	return func(w io.Writer, s Style) {
		room := s.Columns
		if room > 0 {
			room = max(room-len(indent), 1)
		}
		for _, line := range fold(escape(text, names.Control), room) {
			fmt.Fprintln(w, indent+line)
		}
	}
}

// Record returns a block of labels, each followed by its value. The arguments alternate. Record omits
// values that are the empty string.
func Record(labelsAndValues ...any) Block {
	return func(w io.Writer, s Style) {
		t, room := newTable(w), 0
		if s.Columns > 0 {
			longest := 0
			for p := range slices.Chunk(labelsAndValues, 2) {
				longest = max(longest, len(fmt.Sprint(p[0])))
			}
			room = max(s.Columns-longest-2, 1)
		}
		for p := range slices.Chunk(labelsAndValues, 2) {
			if p[1] == "" {
				continue
			}
			for i, line := range fold(escape(fmt.Sprint(p[1]), names.Control), room) {
				if i > 0 {
					p[0] = ""
				}
				fmt.Fprintf(t, "%s\t%s\n", p[0], line)
			}
		}
		_ = t.Flush()
	}
}

// Style decorates text for a terminal. The zero style leaves text unchanged.
type Style struct {
	Colours bool
	Columns int // width of the terminal; 0 means no limit
}

// The looks of a style, and the end of each.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	plain = "\x1b[0m"
)

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.wrap(bold, text) }

// Faint returns dimmed text.
func (s Style) Faint(text string) string { return s.wrap(faint, text) }

// Red returns red text.
func (s Style) Red(text string) string { return s.wrap(red, text) }

// Green returns green text.
func (s Style) Green(text string) string { return s.wrap(green, text) }

func (s Style) wrap(start, text string) string {
	if !s.Colours || text == "" {
		return text
	}
	return start + text + plain
}
