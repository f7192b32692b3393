package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/names"
)

// A terminal obeys nothing that a member sent, whichever block prints it. Colours are the program's own.
func TestOutputIsVisible(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b]0;owned\a\x1b[2Jb\u009bc\u202ed\re"
	const shown = `a\x1b]0;owned\a\x1b[2Jb\u009bc\u202ed\re`
	rows := []string{hostile, "two\nrows\tcells"}
	cells := func(s string) []any { return []any{s, "x"} }
	for name, block := range map[string]Block{
		"line":   Line("%s", hostile),
		"record": Record("name", hostile),
		"table":  Table(rows, []string{"NAME", "X"}, cells),
		"narrow": func(w io.Writer, _ Style) { Table(rows, []string{"NAME", "X"}, cells)(w, Style{Columns: 40}) },
	} {
		for _, colours := range []bool{false, true} {
			var out bytes.Buffer
			p := &Printer{w: &out, Style: Style{Colours: colours}}
			if err := p.Answer(nil, block); err != nil {
				t.Fatal(err)
			}
			said := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(out.String())
			if !strings.Contains(said, shown) || strings.ContainsFunc(said, obeyed) {
				t.Errorf("%s: %q", name, said)
			}
			if strings.Contains(said, "two") && !strings.Contains(said, `two\nrows\tcells`) {
				t.Errorf("%s: a cell adds rows or cells: %q", name, said)
			}
		}
	}
	if got := Visible("\x1b[31mred\x1b[0m \x1b[31"); got != "\x1b[31mred\x1b[0m \\x1b[31" {
		t.Errorf("%q", got)
	}
	if got := Visible("\x1b"); got != `\x1b` || names.CheckText("text", got) != nil {
		t.Errorf("%q", got)
	}
	var stderr bytes.Buffer
	a := &App{Stderr: &stderr}
	a.printError(errors.New(hostile))
	a.Warn("%s", hostile)
	if got := stderr.String(); strings.ContainsFunc(got, obeyed) || strings.Count(got, shown) != 2 {
		t.Errorf("%q", got)
	}
}

func TestBufferIsNoTerminal(t *testing.T) {
	t.Parallel()
	if terminal, s := (&App{}).Terminal(new(bytes.Buffer)); terminal || s.Colours {
		t.Error("a buffer counts as a terminal")
	}
}
