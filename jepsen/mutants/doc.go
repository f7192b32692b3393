//go:build linux

// Package mutants shows that the chaos runs can fail. It plants one deliberate bug after another in the members, and makes
// runs until a checker catches the bug. Runs without a bug, the controls, must pass. [Hunt] makes the runs of each [Row].
package mutants
