// Package check judges runs: each checker reads what a run left behind, see package
// history, and gives a [Verdict].
//
// A checker believes nobody: not the members, not the state machine, not the harness's
// plans. It looks at what clients were given, at what processes said, and at the log that
// was committed. What it can't know it doesn't guess; then the run is [Invalid], which is
// no failure of the product, and no pass.
package check
