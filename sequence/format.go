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
//	{seq}            the number in decimal; a format has exactly one {seq} or {code}
//	{seq:06}         at least 6 digits, with zeros in front; 1 to 64. A longer number is printed whole
//	{seq:base62}     in another encoding: hex, base32, base36, base58 or base62
//	{seq:base62:8}   with at least 8 digits; in front are zeros, which base58 writes as 1
//	{name:2}         the second part of the sequence's name between slashes; see [Format.For]
//	{code:base32:8}  the number's code, see [Code]: digits, base32, base36 or base58, and the length
//	{check:luhn}     the check digit of the decimal digits of the number or code before it, at most once
//	{check:crockford}  the check symbol of a number or code in base32
//	{date:yyyyMMdd}  a date of yyyy yy MM dd HH mm ss, and - _ / . : between them
//	{fy} {fy:yy}     the fiscal year, named by the year of its last day
//	{fy:yyyy-yy}     the years in which the fiscal year begins and ends; each may be yyyy or yy
//	{quarter}        the quarter of the fiscal year, 1 to 4
//	{week}           the week of ISO 8601, 01 to 53
//	{weekyear}       the year of that week, {weekyear:yy} in two digits. It may not be that of the date
//	{dayofyear}      the day of the year, 001 to 366
//
// Each part of a date may appear any number of times, and has a fixed width. Fiscal years begin on the day that the
// [Calendar] of the format says; without one they are the years of the date.
//
// A negative number is written as a - and its padded magnitude.
type Format struct {
	text       string
	parts      []part
	dates      kinds // kinds of the parts of dates
	yearStarts YearStart
	names      []namePart // ascending by place in text
	coder      *coder     // nil without codes, and without their key
}

// part is a piece of a format: some text, one field of a date, the number, its code, or its check digit.
type part struct {
	kind    kind
	literal string // text of a literal; of a part of the name, its text in the format

	encoding snowflake.Encoding // encoding of the number or the code
	zero     byte               // digit of the encoding for 0
	// width is the number of digits of a field of a date, 1 to 4, the least number of digits of the number, 0 to 64, or the
	// length of a code.
	width int

	name  int       // number of a part of the name, from 1
	check checkKind // rule of a check digit
}

// kind is the type of a part. The kinds from year on are fields of a date.
type kind uint8

const (
	literal kind = iota
	number
	ofName
	code
	checkDigit
	year
	month
	day
	hour
	minute
	second
	fiscalFirstYear // the year in which the fiscal year begins
	fiscalYear      // the year of its last day
	quarter
	weekYear
	week
	dayOfYear
	kindCount
)

// kinds is a set of kinds.
type kinds uint32

const (
	fiscalKinds = kinds(1<<fiscalFirstYear | 1<<fiscalYear | 1<<quarter)
	weekKinds   = kinds(1<<weekYear | 1<<week)
)

func (s kinds) has(k kind) bool { return s>>k&1 != 0 }

// String returns the text that the format was parsed from.
func (f *Format) String() string { return f.text }

// YearStarts returns the day on which the fiscal years in the text begin.
func (f *Format) YearStarts() YearStart { return f.yearStarts }

// Append appends the text of a number to dst and returns the extended slice. The dates in the text are those of
// at, in the location of at. Parts of a name are written as they are in the format. A year before 0 is written as 0000 and a year
// after 9999 as 9999, to keep the width: the text does not distinguish such dates. The fiscal year that ends in 10000 is written as 0000.
//
// Append panics if the format needs a key, or if the number has no code; see [Format.NeedsKey] and [Code.Max].
func (f *Format) Append(dst []byte, n int64, at time.Time) []byte {
	var d date
	if f.dates != 0 {
		d = dateOf(at, f.yearStarts, f.dates)
	}
	digits := len(dst) // position of the digits of the number or code
	end := digits
	for i := range f.parts {
		switch p := &f.parts[i]; p.kind {
		case literal, ofName:
			dst = append(dst, p.literal...)
		case number:
			if n < 0 {
				dst = append(dst, '-')
			}
			digits = len(dst)
			dst = p.appendDigits(dst, magnitude(n))
			end = len(dst)
		case code:
			digits = len(dst)
			dst = f.coder.append(dst, n)
			end = len(dst)
		case checkDigit:
			dst = p.check.append(dst, dst[digits:end])
		default:
			dst = appendDigits(dst, d[p.kind], p.width)
		}
	}
	return dst
}

// appendDigits appends the last width digits of n, 1 to 4 of them.
func appendDigits(dst []byte, n, width int) []byte {
	digits := [...]byte{'0' + byte(n/1000%10), '0' + byte(n/100%10), '0' + byte(n/10%10), '0' + byte(n%10)}
	return append(dst, digits[len(digits)-width:]...)
}

// padding holds the zeros that pad numbers.
const padding = "0000000000000000000000000000000000000000000000000000000000000000"

// appendDigits appends a number with at least width digits.
func (p *part) appendDigits(dst []byte, n uint64) []byte {
	start := len(dst)
	dst = p.encoding.Append(dst, n)
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

// magnitude returns the absolute value of n.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n) // correct also for the smallest int64, which has no positive counterpart
	}
	return uint64(n)
}
