// Package sequence says what the numbers of a sequence look like and which period a
// moment belongs to. A [Format] writes a number as text, such as ORD20260301000042, a
// [Reset] says how often a sequence starts over, and a [Period] is one run of numbers
// between two starts.
//
// # What the package guarantees
//
//   - It is pure. It reads no clock and holds no state, so every function is safe for
//     concurrent use, and a Format never changes after [ParseFormat]. The one function
//     that looks outside is [LoadLocation], which reads the time zone database.
//   - Texts distinguish numbers. Everything in a text but the number has a fixed width,
//     and a number is never cut. So the number and every date part can be read from
//     it. If [CheckFormat] accepts a format for a reset, and the date that is written
//     is one that [Clamp] returned for the number's period, no two pairs of period and
//     number have the same text.
//   - Periods follow the calendar of a time zone, also where it is odd: on days on which
//     midnight does not exist or occurs twice, and where a whole day was left out.
//   - Nothing overflows: dates outside the years 1 to 9999 count to the first or the last
//     period.
//
// Issuing numbers, that is choosing them so that none is used twice in a period, is
// not the business of this package.
//
// # Errors
//
// Every error starts with "sequence: " and wraps [ErrInvalidFormat] or [ErrUnknownZone].
package sequence
