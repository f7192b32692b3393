// Package snowflake describes and packs snowflake-style IDs: unsigned 64-bit numbers whose bits are split into
// the fields time, datacenter, worker and sequence.
//
// A [Layout] defines the fields, the length of a tick of the time field, and the instant of tick 0. The layouts
// of well-known systems are available as presets; see [Preset]. An [Encoding] writes an ID as text and reads it
// back, and [Layout.UUID] writes it as a [UUID] of version 7.
//
//	 63 62                                    22 21        12 11          0
//	+--+----------------------------------------+------------+-------------+
//	| 0|  time: ticks of 1 ms since 2025-01-01  |   worker   |  sequence   |
//	+--+----------------------------------------+------------+-------------+
//	     41 bits, full in September 2094          10 bits      12 bits      preset "default"
//
// # What the package guarantees
//
//   - It is pure. It reads no clock and holds no state: every function is safe
//     for concurrent use, and a Layout never changes after [New].
//   - Nothing is masked. A value that does not fit its field is an error, because
//     cutting it off would produce the ID of another process. [Layout.Compose] is the
//     only function without this check.
//   - Nothing overflows. Instants that do not fit in 64 bits of milliseconds
//     saturate, and so do ticks; an ID in text larger than 64 bits is an error.
//   - For a layout accepted by [Layout.CanIssue], IDs are positive as int64 and
//     IDs of a later tick are greater than all IDs of an earlier one.
//
// The package does not issue IDs: its callers choose ticks and sequences, and must use none twice.
//
// # Errors
//
// Every error starts with "snowflake: " and wraps one of [ErrInvalidLayout],
// [ErrExhausted], [ErrOutOfRange] and [ErrSyntax].
package snowflake
