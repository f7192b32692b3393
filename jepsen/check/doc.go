// Package check judges runs. Each checker reads the record of a run, see package history, and returns a [Verdict].
//
// A checker trusts neither the members nor the state machine nor the plans of the harness. It reads the answers that
// clients received, the statuses and logs of processes, and the committed Raft log. A checker does not guess missing
// facts: without them, the run is [Invalid], which is neither a failure of the product nor a pass. [Judge] runs all
// checkers.
package check
