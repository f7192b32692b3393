//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestTextIsInsertedBetweenItsMarkers(t *testing.T) {
	t.Parallel()
	page := "a\n<!-- proof -->\nold\n<!-- /proof -->\nb\n<!-- pause -->\nkept\n<!-- /pause -->\nc\n"
	got, err := insert(page, "proof", "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(page, "old", "\nnew\n", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := insert(page, "other", "new\n"); err == nil {
		t.Error("text was inserted without markers")
	}
}

// TestTableNamesOtherSeeds has rows of which one ran less often, with another version in between.
func TestTableNamesOtherSeeds(t *testing.T) {
	t.Parallel()
	got := table([]row{
		{system{name: "a", title: "A"}, []outcome{{Version: "1", Seed: 1, Calls: 1000}, {Version: "2", Seed: 2, Calls: 12000, Duplicates: 3}}},
		{system{name: "b", title: "B"}, []outcome{{Version: "1", Seed: 2}}},
	})
	for _, want := range []string{
		"| A | 1, 2 |  | 1,000 to 12,000 | 0 | 0.0 s | **0 to 3** | `a` |\n",
		"| B | 1 |  | 0 | 0 | 0.0 s | **0** | `b` |\n",
		"these seeds: 1, 2. ",
		"The seeds of `b` are 2.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
