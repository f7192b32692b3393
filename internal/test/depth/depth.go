// Package depth says how much a long search or simulation tries. Ordinary runs try little, so that all tests together take
// minutes. Runs with SNOWRAFT_DEPTH=whole try everything: an eighth of them in each gate, and all of them at night.
//
// The walks over every order of steps go further in each gate, for two minutes of processor time in all, and further still with
// SNOWRAFT_DEPTH=night, for an hour.
//
// Runs with SNOWRAFT_DEPTH=little repeat less still. So do runs with the race detector, which finds a race in the first
// rounds or, where goroutines share no memory, never. With SNOWRAFT_DEPTH=ordinary they repeat as usual: an eighth of the
// packages in each gate, and all of them at night.
package depth

import (
	"os"

	"github.com/snowraft/snowraft/internal/test/race"
)

// Of returns whole if the environment has SNOWRAFT_DEPTH=whole, otherwise ordinary.
func Of(ordinary, whole int) int {
	if os.Getenv("SNOWRAFT_DEPTH") == "whole" {
		return whole
	}
	return ordinary
}

// Walk returns how many steps a walk over every order takes: the gate's if the environment has SNOWRAFT_DEPTH=whole, that of a
// night with SNOWRAFT_DEPTH=night, otherwise ordinary.
func Walk(ordinary, gate, night int) int {
	if os.Getenv("SNOWRAFT_DEPTH") == "night" {
		return night
	}
	return Of(ordinary, gate)
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
