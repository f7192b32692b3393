package main

import (
	"slices"
	"testing"
)

// The present members are compared with the mean of both turns of the earlier ones in the same round.
func TestPlainRowIsJudged(t *testing.T) {
	t.Parallel()
	rounds := func(rates ...float64) (all []figures) {
		for _, rate := range rates {
			all = append(all, figures{calls: rate})
		}
		return all
	}
	var got table
	row := plainRow{name: "INCR", figure: calls}
	row.add(&got, [][]figures{rounds(100, 200, 100), rounds(150, 150, 75), rounds(200, 100, 100)})
	want := []string{"INCR", "150", "150", "1.00 (0.75–1.00)", "1.00 (0.50–2.00)"}
	if !slices.Equal(got.rows[0], want) || got.notes[0] != "Target: INCR: at least 0.95 times the earlier rate. Met: 1.00." {
		t.Errorf("%q %q, want %q", got.rows, got.notes, want)
	}
}
