// Package fsm is the replicated state machine of Snowraft: who may issue what.
//
// The package is Snowraft's own: it may change in any release and promises nothing to importers. Programs
// import client, snowflake, sequence and proto/snowraft/v1.
//
// A [State] maps a totally ordered log of commands to grants. Its guarantees,
// whatever the clocks and the order of the log:
//
//   - Each cell (layout, worker, tick) is granted at most once, to one process
//     start. A window begins at or above its worker's high-water, and granting it
//     raises the high-water to its end; only the holder of the current token may
//     lower it again, and only over ticks in which it issued nothing. See the type
//     that keeps it, workers.
//   - Each number of a sequence is granted at most once in each period, unless an
//     operator forces it. See the type that keeps it, sequence.
//   - A domain refusal is a value, a [Refused], and the same on every replica.
//   - Equal logs give equal states, and equal states have equal digests and equal
//     snapshot bytes, also when a replica restored a snapshot in between.
//   - What it does not know, it does not skip: an unknown command, protobuf field,
//     enum value or version halts the [Machine] before it changes anything.
//
// Windows are half-open ranges of ticks, [from, until). All times are Unix
// milliseconds, and the only one that the state machine sees is the proposer's, a
// field of the command. The package reads no clock, no randomness, no environment
// and no file, starts no goroutine, uses no floating point, and no result depends
// on the order of a map.
//
// A new kind of command is one file with its rules and one entry in the table of
// version.go. If it has state of its own, that goes into image, the snapshot
// writer and the snapshot reader as well. The rules that snowflake checks a layout
// by, and internal/names a name, are part of the state machine too: changing them
// needs a new fsm_version.
package fsm
