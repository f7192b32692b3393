// Package report writes the reports of a run: a text for a terminal, and a self-contained
// HTML page. [Write] writes both.
//
// The reports judge nothing: they show the verdicts of the checkers and the events of the
// run. Package report reads the operations once. Its memory depends neither on their number
// nor on the length of the run.
package report
