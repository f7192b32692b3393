package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// The page of layouts has the numbers of each preset.
func TestLayoutsPageHasThePresets(t *testing.T) {
	const begin, end = "<!-- The table is written from the presets: go test ./docs -update -->\n", "<!-- end of the table -->\n"
	var rows strings.Builder
	rows.WriteString("\n| preset | fields | bits | tick | epoch | workers | IDs per worker | full |\n|---|---|---|---|---|---|---|---|\n")
	for _, l := range snowflake.Presets() {
		s := l.Spec()
		full := time.UnixMilli(l.ExhaustsAt()).UTC().Format("2006")
		if l.ExhaustsAt() > time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
			full = "after 9999"
		}
		// The verdict is that of one day, so that the table changes with the presets only.
		if s.LeaseOnly {
			full += "; lease only"
		} else if l.CanIssue(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMilli()) != nil {
			full += "; decodes only"
		}
		fmt.Fprintf(&rows, "| `%s` | `%s` | %d | %v | %s | %d | %d | %s |\n", l.Name(), snowflake.FormatFields(s.Fields), l.Bits(),
			time.Duration(s.UnitMillis)*time.Millisecond, time.UnixMilli(s.EpochMillis).UTC().Format(time.DateOnly), l.Workers(), l.Sequences(), full)
	}
	rows.WriteString("\n")
	page := read(t, "layouts.md")
	before, rest, _ := strings.Cut(page, begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("layouts.md has no table")
	}
	if table == rows.String() {
		return
	}
	if !*update {
		t.Errorf("the table of layouts.md is outdated; run go test ./docs -update; want\n%s", rows.String())
	} else if err := os.WriteFile("layouts.md", []byte(before+begin+rows.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
