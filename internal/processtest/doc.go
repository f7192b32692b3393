// Package processtest tests snowraft as its users run it: the real program as
// real processes, that are killed, stopped and started again. The tests have
// the build tag "process"; "make smoke" runs them.
//
// The IDs are the evidence. Every answer that a test receives goes
// into a ledger, which compares all of them at the end: no test knows in
// advance in which moment an ID could have come twice.
package processtest
