//go:build linux

// Package mutants shows that the chaos runs can fail: it plants one deliberate bug after
// another in the members, and makes runs until a checker sees that something is wrong. A
// run without a bug has to pass.
package mutants
