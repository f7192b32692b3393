//go:build mutants

package client

import (
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
)

// Each planted bug is found by the model that could show it, and nothing is without one.
func TestPlantedBugsOfNumbersAreCaught(t *testing.T) {
	for _, c := range []struct {
		bug  mutant.Bug
		walk func(t *testing.T) []string
	}{
		{"", walkBuffer}, {"", walkSequence}, {mutant.SweepOpen, walkBuffer}, {mutant.SharePart, walkSequence},
	} {
		t.Run("bug="+string(c.bug), func(t *testing.T) {
			undo := mutant.Plant(c.bug)
			defer undo()
			if found := c.walk(t); (len(found) > 0) != (c.bug != "") {
				t.Fatalf("found %q", found)
			}
		})
	}
}
