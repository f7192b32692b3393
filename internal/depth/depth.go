// Package depth says how much a long search or simulation tries. Ordinary runs try little, so that all tests together take
// minutes. Runs with SNOWRAFT_DEPTH=whole try everything: an eighth of them in each gate, and all of them at night.
package depth

import "os"

// Of returns whole if the environment has SNOWRAFT_DEPTH=whole, otherwise ordinary.
func Of(ordinary, whole int) int {
	if os.Getenv("SNOWRAFT_DEPTH") == "whole" {
		return whole
	}
	return ordinary
}
