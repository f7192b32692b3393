// Package fsm is the replicated state machine of Snowraft: it decides which process may issue which IDs and
// numbers.
//
// The package is Snowraft's own: it may change in any release and promises nothing to importers. Programs
// import client, snowflake, sequence and proto/snowraft/v1.
//
// A [State] maps a totally ordered log of commands to grants. Its guarantees
// hold for any readings of the clocks and any order of the log:
//
//   - Each cell (layout, worker, tick) is granted at most once, to one process
//     start. A window begins at or above its worker's high-water, and granting the
//     window raises the high-water to the window's end. Only the holder of the
//     current token may lower the high-water again, and only over ticks in which it
//     issued nothing. The type workers keeps this invariant.
//   - Each number of a sequence is granted at most once in each period, unless an
//     operator forces a repetition. The type sequence keeps this invariant.
//   - A domain refusal is a value, a [Refused], and equal on every replica.
//   - Equal logs give equal states, and equal states have equal digests and equal
//     snapshot bytes, even when a replica restored a snapshot in between.
//   - Nothing unknown is skipped: an unknown command, protobuf field, enum value or
//     version halts the [Machine] before it changes anything.
//
// Windows are half-open ranges of ticks, [from, until). All times are Unix
// milliseconds. The only time that the state machine sees is the proposer's clock,
// a field of the command. The package reads no clock, no randomness, no environment
// and no file, and uses no floating point. No result depends on the order of a map or
// on a goroutine: the only one that a [Machine] starts computes a digest before it is
// needed.
//
// A new kind of command is one file with its rules and one entry in the table of
// version.go. If it has state of its own, that goes into image, the snapshot
// writer and the snapshot reader too. The rules by which snowflake checks a
// layout and internal/names checks a name are also part of the state machine:
// changing them needs a new fsm_version.
package fsm
