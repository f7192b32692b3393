package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNameParts is the greatest number of parts of a name: it has at most 128 bytes, and slashes between its parts.
const maxNameParts = 64

// namePart is a {name:N} in the text [from, until) of a format.
type namePart struct{ number, from, until int }

// ofName parses the option of {name:N}.
func (p *parser) ofName(inside, option string) error {
	n, err := strconv.ParseUint(option, 10, 8)
	if err != nil || n < 1 || n > maxNameParts || option[0] == '0' {
		return p.errorf("{%s} is not a part of the name, expected {name:1} to {name:%d}: the part with that number between slashes", clip(inside), maxNameParts)
	}
	until := p.at + len(inside) + len("{}")
	p.f.names = append(p.f.names, namePart{int(n), p.at, until})
	p.f.parts = append(p.f.parts, part{kind: ofName, literal: p.f.text[p.at:until], name: int(n)})
	return nil
}

// NameParts returns the numbers of the parts of the name that are in the text, ascending, each once.
func (f *Format) NameParts() []int {
	var numbers []int
	for _, n := range f.names {
		numbers = append(numbers, n.number)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// For returns the format with the parts of a name as text in place of each {name:N}. The error is an [ErrInvalidFormat] if the name has
// fewer parts, or if a format cannot have that text.
func (f *Format) For(name string) (*Format, error) {
	if len(f.names) == 0 {
		return f, nil
	}
	parts := strings.Split(name, "/")
	var text strings.Builder
	from := 0
	for _, n := range f.names {
		if n.number > len(parts) {
			return nil, fmt.Errorf("%w: %q has {name:%d}, and the name %q has %d parts between slashes", ErrInvalidFormat, f.text, n.number, name, len(parts))
		}
		text.WriteString(f.text[from:n.from])
		text.WriteString(braces.Replace(parts[n.number-1]))
		from = n.until
	}
	text.WriteString(f.text[from:])
	return Calendar{YearStarts: f.yearStarts}.ParseFormat(text.String())
}

var braces = strings.NewReplacer("{", "{{", "}", "}}")

// CheckNames returns an [ErrInvalidFormat] if two names that differ in the parts of the format may give equal texts, for any
// dates and any numbers, negative ones only if signed: INV{name:2}{seq} writes 12 of the name a/1 as 2 of the name a/11.
func CheckNames(f *Format, signed bool) error {
	x := symbols(f.parts)
	if !signed {
		x = slices.DeleteFunc(x, func(s symbol) bool { return s.optional && !s.repeats })
	}
	// Two readings of one text are compared from its end. same[i][j] reports whether symbols from i on and from j on may write the
	// same text, apart[i][j] whether they may do so with a byte that is of different parts of the name. If there is no such byte,
	// both readings have the same name.
	same, apart := table(len(x)+1), table(len(x)+1)
	for i := len(x); i >= 0; i-- {
		for j := len(x); j >= 0; j-- {
			if i == len(x) && j == len(x) {
				same[i][j] = true
				continue
			}
			next := nextPairs(x, i, j)
			for _, n := range next {
				same[i][j] = same[i][j] || same[n.i][n.j]
				apart[i][j] = apart[i][j] || apart[n.i][n.j] || n.apart && same[n.i][n.j]
			}
			if i < len(x) && j < len(x) && x[i].repeats && x[j].repeats && x[i].name != x[j].name && x[i].meets(x[j]) {
				apart[i][j] = apart[i][j] || same[i][j]
			}
		}
	}
	if apart[0][0] {
		return fmt.Errorf("%w: %q may write the numbers of two names alike; separate the name from digits by text that ends it, for example {name:2}-{seq:05}", ErrInvalidFormat, f.text)
	}
	return nil
}

// pair is a pair of symbols that follows another one; apart if the byte between them is of different parts of the name.
type pair struct {
	i, j  int
	apart bool
}

// nextPairs returns the pairs that may follow the symbols i and j, except the pair itself.
func nextPairs(x []symbol, i, j int) (next []pair) {
	if i < len(x) && x[i].optional {
		next = append(next, pair{i + 1, j, false})
	}
	if j < len(x) && x[j].optional {
		next = append(next, pair{i, j + 1, false})
	}
	if i == len(x) || j == len(x) || !x[i].meets(x[j]) {
		return next
	}
	apart := x[i].name != x[j].name
	next = append(next, pair{i + 1, j + 1, apart})
	if x[i].repeats {
		next = append(next, pair{i, j + 1, apart})
	}
	if x[j].repeats {
		next = append(next, pair{i + 1, j, apart})
	}
	return next
}

func table(size int) [][]bool {
	rows := make([][]bool, size)
	for i := range rows {
		rows[i] = make([]bool, size)
	}
	return rows
}

// nameBytes holds every byte that a part of a name may have.
var nameBytes = func() string {
	var all []byte
	for b := '!'; b <= 0xff; b++ {
		if b != '/' && b != 0x7f {
			all = append(all, byte(b))
		}
	}
	return string(all)
}()
