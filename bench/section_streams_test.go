package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Ratios compare turns of the same round, and each row has its own targets.
func TestStreamRowIsJudged(t *testing.T) {
	t.Parallel()
	rounds := func(p99s float64, rates ...float64) (all []figures) {
		for _, rate := range rates {
			all = append(all, figures{calls: rate, p50: 1e3, p99: p99s, allocations: rate / 10})
		}
		return all
	}
	got := &table{columns: make([]string, 10)}
	streamRow{name: "IDs", ofEcho: 0.9, ofEarlier: 2, p99: 1}.add(got, [][]figures{
		rounds(2e6, 100, 300, 200), rounds(1e6, 50, 100, 200), rounds(1e6, 100, 100, 200), rounds(1e6, 100, 400, 400),
	})
	streamRow{name: "more", ofEarlier: 1.5}.add(got, [][]figures{rounds(1e6, 300), rounds(1e6, 150), rounds(1e6, 200), rounds(1e6, 300)})
	wantRows := [][]string{
		{"IDs", "200", "2.00 (1.00–3.00)", "1.00 (1.00–3.00)", "0.75 (0.50–1.00)", "1.0 µs", "2.0 ms", "2.00 (2.00–2.00)", "20.00", "10.00"},
		{"more", "300", "2.00", "1.50", "1.00", "1.0 µs", "1.0 ms", "1.00", "30.00", "15.00"},
	}
	wantNotes := []string{
		"Target: IDs: at least 0.90 times the echo's rate. **Not met**: 0.75.",
		"Target: IDs: at least 2.00 times the earlier rate. Met: 2.00.",
		"Target: IDs: a p99 of at most 1.00 times the earlier one. **Not met**: 2.00.",
		"Target: more: at least 1.50 times the earlier rate. Met: 2.00.",
	}
	if !slices.EqualFunc(got.rows, wantRows, slices.Equal) || !slices.Equal(got.notes, wantNotes) {
		t.Errorf("the table is\n%s\nwant %q, %q", got.markdown(), wantRows, wantNotes)
	}
}

func TestDriverWithoutHistory(t *testing.T) {
	t.Parallel()
	e := &env{root: t.TempDir(), dir: t.TempDir()} // like a shallow clone: the commit is missing
	if _, err := e.git(t.Context(), "init", "--quiet"); err != nil {
		t.Skip(err)
	}
	_, err := e.checkout(t.Context(), callsCommit)
	if _, ok := errors.AsType[*skippedError](err); !ok || !strings.Contains(err.Error(), callsCommit+" is not in the history") {
		t.Errorf("%v, want a skipped section because the commit is missing", err)
	}
}
