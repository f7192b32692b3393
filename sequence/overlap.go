package sequence

import (
	"slices"
	"strings"

	"github.com/snowraft/snowraft/snowflake"
)

// Overlap reports whether two formats may write the same text for different numbers, for any dates. A nil
// format writes decimals. Formats that differ only in the width of the number do not overlap. Two formats with codes
// have the same key.
func Overlap(a, b *Format) bool {
	p, q := partsOf(a), partsOf(b)
	if sameYears(a, b) && slices.EqualFunc(p, q, func(a, b part) bool {
		if a.kind == number {
			a.width = b.width
		}
		return a == b
	}) {
		return false
	}
	x, y := symbols(p), symbols(q)
	// same[i][j] reports whether x from symbol i on and y from symbol j on may write the same text.
	same := make([][]bool, len(x)+1)
	for i := len(x); i >= 0; i-- {
		same[i] = make([]bool, len(y)+1)
		for j := len(y); j >= 0; j-- {
			switch {
			case i == len(x) && j == len(y):
				same[i][j] = true
			case i < len(x) && x[i].optional && same[i+1][j], j < len(y) && y[j].optional && same[i][j+1]:
				same[i][j] = true
			case i < len(x) && j < len(y) && x[i].meets(y[j]):
				same[i][j] = same[i+1][j+1] || x[i].repeats && same[i][j+1] || y[j].repeats && same[i+1][j]
			}
		}
	}
	return same[0][0]
}

// sameYears reports whether the fiscal years in the texts of two formats with the same parts begin on the same day.
func sameYears(a, b *Format) bool {
	return a == nil || b == nil || a.dates&fiscalKinds == 0 || a.yearStarts == b.yearStarts
}

func partsOf(f *Format) []part {
	if f == nil {
		return []part{{kind: number, zero: '0'}}
	}
	return f.parts
}

// symbol is one byte out of a set or, if it repeats, any number of bytes out of the set.
type symbol struct {
	bytes             string
	optional, repeats bool
	name              int // number of the part of the name that the byte is of; 0: none
}

func (s symbol) meets(o symbol) bool {
	return slices.ContainsFunc([]byte(s.bytes), func(b byte) bool { return strings.IndexByte(o.bytes, b) >= 0 })
}

// symbols returns the symbols of the text that parts write.
func symbols(parts []part) (all []symbol) {
	add := func(count int, bytes string) { all = append(all, slices.Repeat([]symbol{{bytes: bytes}}, count)...) }
	for _, p := range parts {
		switch p.kind {
		case literal:
			for i := range len(p.literal) {
				add(1, p.literal[i:i+1])
			}
		case number:
			digits := charactersOf(p.encoding)
			all = append(all, symbol{bytes: "-", optional: true})
			add(max(p.width, 1), digits)
			all = append(all, symbol{bytes: digits, optional: true, repeats: true})
		case ofName:
			all = append(all, symbol{bytes: nameBytes, repeats: true, name: p.name})
		case code:
			add(p.width, charactersOf(p.encoding))
		case checkDigit:
			add(1, p.check.symbols())
		default:
			add(p.width, "0123456789")
		}
	}
	return all
}

// charactersOf returns the digits of an encoding; some appear twice.
func charactersOf(e snowflake.Encoding) string {
	var last []byte
	for n := range uint64(64) {
		text := e.Encode(n)
		last = append(last, text[len(text)-1])
	}
	return string(last)
}
