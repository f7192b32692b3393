// Package processtest tests the real program as real processes, which the tests
// kill, stop and restart. "make smoke" runs the tests with the build tag "process",
// "make browser" those with "browser", and "make monitoring" those with "prometheus".
// The flag -promises runs only the tests that show the promises to users, and -slice=K
// one eighth of the others.
//
// The IDs are the evidence. Every answer that a test receives goes into a ledger,
// which compares all answers at the end, because no test knows in advance when an ID
// could be issued twice.
package processtest
