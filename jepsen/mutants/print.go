//go:build linux

package mutants

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// longestWhy is the greatest length of the text about a round, in characters.
const longestWhy = 160

// Table writes the results as a table with a summary line.
func Table(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "mutant\tcaught by\trounds\toperations\tseconds")
	for i := range results {
		r := &results[i]
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.0f\n", r.Mutant, r.caughtBy(), r.Rounds, r.Operations, r.Seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, slowest(results))
	return err
}

// caughtBy describes in a few words the checkers that caught the bug of a row.
func (r *Result) caughtBy() string {
	switch {
	case r.Control && r.OK:
		return "no checker, as expected"
	case r.Control && len(r.By) > 0:
		return "FAILED: " + strings.Join(r.By, ", ")
	case r.Control:
		return "FAILED: no round shows anything"
	case !r.OK && r.Invalid == r.Rounds:
		return "NO CHECKER: no round shows anything"
	case !r.OK && len(r.By) > 0:
		return "NO CHECKER (" + strings.Join(r.By, ", ") + " does not count)"
	case !r.OK:
		return "NO CHECKER"
	case !r.asExpected():
		return strings.Join(r.By, ", ") + " (expected " + strings.Join(r.Expected, " or ") + ")"
	default:
		return strings.Join(r.By, ", ")
	}
}

// cause returns the text of caughtBy and the first failure, cut to longestWhy, on one line.
func (r *Result) cause() string {
	text := r.caughtBy()
	if r.Why != "" {
		text += ": " + r.Why
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > longestWhy {
		text = string([]rune(text)[:longestWhy-3]) + "..."
	}
	return text
}

// slowest returns the summary line: the number of caught bugs, and the caught bug that took longest.
func slowest(results []Result) string {
	caught, bugs := 0, 0
	var last *Result
	for i := range results {
		r := &results[i]
		if r.Control {
			continue
		}
		bugs++
		if !r.OK {
			continue
		}
		caught++
		if last == nil || r.Seconds > last.Seconds {
			last = r
		}
	}
	text := fmt.Sprintf("%d of %d mutants were caught", caught, bugs)
	if last != nil {
		text += fmt.Sprintf("; the slowest, %s, took %.0f s and %d operations", last.Mutant, last.Seconds, last.Operations)
	}
	return text + "."
}

// AllOK reports whether all bugs were caught and all controls passed.
func AllOK(results []Result) bool {
	for i := range results {
		if !results[i].OK {
			return false
		}
	}
	return true
}
