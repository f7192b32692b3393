package cli

import (
	"strings"
	"testing"
)

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	type row struct{ name, text string }
	rows := []row{{"a", strings.Repeat("word item ", 6) + "end"}, {"b", ""}}
	table := Table(rows, []string{"NAME", "TEXT"}, func(r row) []any { return []any{r.name, r.text} })
	const wide = "NAME  TEXT\na     word item word item word item word item word item word item end\nb     -\n"
	const narrow = "NAME  a\nTEXT  word item word item word item word\n      item word item word item end\n\nNAME  b\n"
	for columns, want := range map[int]string{0: wide, 80: wide, 69: wide, 44: narrow, 40: narrow} {
		var got strings.Builder
		table(&got, Style{Columns: columns})
		if got.String() != want {
			t.Errorf("with %d columns:\n%s\nwant:\n%s", columns, got.String(), want)
		}
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	Line("%s", "created the token and\ncopy_it_now_because_it_is_not_stored")(&got, Style{Columns: 12})
	if want := "created the\ntoken and\ncopy_it_now_because_it_is_not_stored\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
