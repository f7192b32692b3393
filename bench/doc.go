// Command bench measures Snowraft next to alternatives for the same work. It writes the
// tables of docs/performance.md and some tables of other pages: it is the only source of
// numbers in the documentation. "make bench" runs it.
//
// All numbers of a table are measured in one run on one machine. Contenders take turns in
// each round, so that other load on the machine affects all of them. A table shows the
// medians of the rounds; a ratio is the median of the rounds' ratios. Servers run in
// processes of their own. The Go client is also compared with an earlier version: the
// program in the directory driver is built with both, next to earlier members. This requires
// the history of the repository.
//
// The programs in the directory clients measure the clients for other languages with the tools of these languages, next to
// libraries of Maven Central, npm and PyPI. "make bench-clients" builds them. Each runs alone too, with a cluster that
// "snowraft dev" starts, after "snowraft layout create wide --fields time:38,worker:3,sequence:22":
//
//	cd bench/clients/java && java -jar target/bench.jar -prof gc -f 1 wide
//	cd bench/clients/typescript && node bench.mjs wide
//	cd bench/clients/python && ../../../bin/bench-python/bin/python bench.py usual
//
// # Adding a section
//
// Write a function that returns a section, in a file section_NAME.go. Add it to the function
// sections. Put its markers at the place of the table in docs/performance.md, or in the page
// that the section names:
//
//	<!-- bench: NAME -->
//	<!-- /bench -->
//
// A section measures with a comparison of contenders, which return figures, or with a suite,
// which runs existing Go benchmarks and tests, or in any other way that returns a table.
package main
