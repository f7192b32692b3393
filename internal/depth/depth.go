// Package depth says how much a long search or simulation tries. Ordinary runs try little, so that all tests together take
// minutes. Runs with SNOWRAFT_DEPTH=whole try everything: an eighth of them in each gate, and all of them at night.
//
// Runs with SNOWRAFT_DEPTH=little repeat less still. So do runs with the race detector, which finds a race in the first
// rounds or, where goroutines share no memory, never. With SNOWRAFT_DEPTH=ordinary they repeat as usual: an eighth of the
// packages in each gate, and all of them at night.
package depth

import (
	"os"

	"github.com/snowraft/snowraft/internal/race"
)

// Of returns whole if the environment has SNOWRAFT_DEPTH=whole, otherwise ordinary.
func Of(ordinary, whole int) int {
	if os.Getenv("SNOWRAFT_DEPTH") == "whole" {
		return whole
	}
	return ordinary
}

// Little returns few if the environment has SNOWRAFT_DEPTH=little, or no depth and the race detector is on. Otherwise it
// returns all.
func Little(few, all int) int {
	depth := os.Getenv("SNOWRAFT_DEPTH")
	if depth == "little" || depth == "" && race.Enabled {
		return few
	}
	return all
}
