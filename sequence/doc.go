// Package sequence defines the texts of a sequence's numbers and the periods to which moments belong. A
// [Format] writes a number as text, such as ORD20260301000042. A [Reset] defines how often a sequence starts
// over. A [Period] is one run of numbers between two starts.
//
// # What the package guarantees
//
//   - It is pure. It reads no clock and holds no state, and a Format never changes after
//     [ParseFormat]. The only exception is [LoadLocation], which reads the time zone database
//     and keeps what it has read. Every function is safe for concurrent use.
//   - Texts distinguish numbers. Everything in a text except the number has a fixed
//     width, and a number is never cut. The number and every date part can therefore
//     be read from the text. If [CheckFormat] accepts a format for a reset, and the date
//     in the text is one that [Clamp] returned for the number's period, no two pairs of
//     period and number have the same text.
//   - Codes are a bijection. Under one key, no two numbers have one [Code], and [Format.Parse] returns the number of
//     each code. Codes have one length.
//   - Periods follow the calendar of a time zone, even on days on which midnight does not
//     exist or occurs twice, and where the time zone skipped a whole day.
//   - Nothing overflows: dates outside the years 1 to 9999 count to the first or the last
//     period.
//
// The package does not issue numbers: its callers choose them, and must use none twice in a period.
//
// # Errors
//
// Every error starts with "sequence: " and wraps [ErrInvalidFormat], [ErrInvalidText],
// [ErrUnknownZone] or [ErrInvalidPeriod].
package sequence
