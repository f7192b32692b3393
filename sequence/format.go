package sequence

import (
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// Format writes a number as text, for example "ORD{date:yyyyMMdd}{seq:06}". [ParseFormat] makes a Format; the
// zero Format writes nothing.
//
// A format is literal text, in which {{ and }} stand for braces, and these parts:
//
//	{seq}            the number in decimal; it appears exactly once
//	{seq:06}         at least 6 digits, with zeros in front; 1 to 64. A longer number is printed whole
//	{seq:base62}     in another encoding: hex, base32, base36, base58 or base62
//	{seq:base62:8}   with at least 8 digits; in front are zeros, which base58 writes as 1
//	{date:yyyyMMdd}  a date of yyyy yy MM dd HH mm ss, and - _ / . : between them; any number of times
//
// A negative number is written as a - and its padded magnitude.
type Format struct {
	text  string
	parts []part
	dates DateParts
}

// part is a piece of a format: some text, one field of a date, or the number.
type part struct {
	kind    kind
	literal string // text of a literal

	encoding snowflake.Encoding // encoding of the number
	zero     byte               // digit of the encoding for 0
	width    int                // least number of digits, 0 to 64
}

type kind uint8

const (
	literal kind = iota
	number
	fullYear
	shortYear
	month
	day
	hour
	minute
	second
)

// String returns the text that the format was parsed from.
func (f *Format) String() string { return f.text }

// Dates returns the parts of a date that are in the text.
func (f *Format) Dates() DateParts { return f.dates }

// Append appends the text of a number to dst and returns the extended slice. The dates in the text are those of
// at, in the location of at. A year before 0 is written as 0000 and a year after 9999 as 9999, to keep the
// width: the text does not distinguish such dates.
func (f *Format) Append(dst []byte, n int64, at time.Time) []byte {
	var d date
	if f.dates != 0 {
		d = dateOf(at)
	}
	for i := range f.parts {
		switch p := &f.parts[i]; p.kind {
		case literal:
			dst = append(dst, p.literal...)
		case number:
			dst = p.appendNumber(dst, n)
		case fullYear:
			dst = append2(append2(dst, d.year/100), d.year%100)
		case shortYear:
			dst = append2(dst, d.year%100)
		case month:
			dst = append2(dst, d.month)
		case day:
			dst = append2(dst, d.day)
		case hour:
			dst = append2(dst, d.hour)
		case minute:
			dst = append2(dst, d.minute)
		case second:
			dst = append2(dst, d.second)
		}
	}
	return dst
}

// date is a moment on the calendar and the clock of a location.
type date struct{ year, month, day, hour, minute, second int }

func dateOf(at time.Time) date {
	var d date
	var m time.Month
	d.year, m, d.day = at.Date()
	d.year, d.month = min(max(d.year, 0), 9999), int(m)
	d.hour, d.minute, d.second = at.Clock()
	return d
}

// append2 appends n, in [0, 100), with two digits.
func append2(dst []byte, n int) []byte {
	return append(dst, '0'+byte(n/10), '0'+byte(n%10))
}

// padding holds the zeros that pad numbers.
const padding = "0000000000000000000000000000000000000000000000000000000000000000"

func (p *part) appendNumber(dst []byte, n int64) []byte {
	magnitude := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude // correct also for the smallest int64, which has no positive counterpart
	}
	start := len(dst)
	dst = p.encoding.Append(dst, magnitude)
	digits := len(dst) - start
	if missing := p.width - digits; missing > 0 {
		dst = append(dst, padding[:missing]...)
		copy(dst[start+missing:], dst[start:start+digits])
		for i := range missing {
			dst[start+i] = p.zero
		}
	}
	return dst
}
