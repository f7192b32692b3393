// Package depth says how much a long search or simulation tries. Ordinary runs try little, so that all tests together take
// minutes. Runs with SNOWRAFT_DEPTH=whole try everything: an eighth of them in each gate, and all of them at night.
//
// With the race detector, runs repeat less still: it finds a race in the first rounds or, where goroutines share no memory,
// never. Runs with SNOWRAFT_DEPTH=ordinary are the exception: an eighth of the packages in each gate, and all of them at night.
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

// Raced returns few if the race detector is on and the environment has no SNOWRAFT_DEPTH, otherwise all.
func Raced(few, all int) int {
	if race.Enabled && os.Getenv("SNOWRAFT_DEPTH") == "" {
		return few
	}
	return all
}
