// Package report shows a run to people: as text for a terminal, and as a page that needs
// nothing but itself.
//
// Both judge nothing: they say what the verdicts say, and show beside it what happened.
// The operations are read once, whatever their number, into memory that depends neither on
// that nor on how long the run was.
package report
