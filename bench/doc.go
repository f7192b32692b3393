// Command bench measures Snowraft next to what else there is for the same work, and
// writes the tables of docs/performance.md, and some of other pages: numbers in the
// documentation come only from it. "make bench" runs it.
//
// Everything in a table is measured in one run on one machine. Contenders take turns,
// round by round, so that what else the machine does falls on all of them; a table
// has the medians of the rounds, and for a ratio the median of the rounds' ratios.
// Servers run in processes of their own. The Go client is also compared with an earlier one: the program in
// the directory driver is built with both, next to earlier members, which takes the history of the repository.
//
// # Adding a section
//
// Write a function that returns a section, in a file section_NAME.go; add it to
// sections; put its markers where docs/performance.md, or the
// page that the section names, shall have the table:
//
//	<!-- bench: NAME -->
//	<!-- /bench -->
//
// A section measures with a comparison, of contenders that each return figures, or
// with a suite, which runs Go benchmarks and tests that exist, or in any other way
// that ends in a table.
package main
