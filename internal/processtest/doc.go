// Package processtest tests the real program as real processes, which the tests
// kill, stop and restart. The tests have
// the build tag "process"; "make smoke" runs them.
//
// The IDs are the evidence. Every answer that a test receives goes
// into a ledger, which compares all answers at the end, because no test knows in
// advance when an ID could be issued twice.
package processtest
