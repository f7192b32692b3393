package sequence

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snowraft/snowraft/snowflake"
)

const (
	// MaxFormatBytes is the greatest length of the text of a format.
	MaxFormatBytes = 256

	maxWidth = len(padding)

	exampleFormat = `"ORD{date:yyyyMMdd}{seq:06}"`
	datePartList  = "yyyy, yy, MM, dd, HH, mm and ss with - _ / . : between them"
	partList      = "{seq}, {code:base32:8}, {check:luhn}, {name:2}, {date:yyyyMMdd}, {fy}, {quarter}, {weekyear}, {week} or {dayofyear}"
	seqOptionList = "{seq}, a width of 1 to 64 digits such as {seq:06}, an encoding (hex, base32, base36, base58, base62) such as {seq:base62}, or both such as {seq:base62:8}"
)

// ParseFormat parses the text of a [Format] whose fiscal years begin on January 1. See [Calendar.ParseFormat].
func ParseFormat(text string) (*Format, error) { return Calendar{}.ParseFormat(text) }

// ParseFormat parses the text of a [Format]: at most 256 bytes of printable UTF-8 with exactly one {seq} or {code}. The
// error is an [ErrInvalidFormat] that states the expected text and, if a part is wrong, its position in bytes from
// 0. The fiscal years in the text are those of the calendar.
func (c Calendar) ParseFormat(text string) (*Format, error) {
	if len(text) > MaxFormatBytes {
		return nil, fmt.Errorf("%w: %d bytes, expected at most %d", ErrInvalidFormat, len(text), MaxFormatBytes)
	}
	p := parser{f: &Format{text: text, yearStarts: c.YearStarts}}
	for p.at < len(text) {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if !p.numbered {
		return nil, fmt.Errorf("%w: %q has no {seq} and no {code}; add one, for example %s", ErrInvalidFormat, text, exampleFormat)
	}
	return p.f, nil
}

// parser parses the text of a format, from byte at on.
type parser struct {
	f        *Format
	at       int
	numbered bool // {seq} or {code} was found
	checked  bool // {check} was found
}

func (p *parser) next() error {
	rest := p.f.text[p.at:]
	switch {
	case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
		p.literal(rest[:1])
		p.at += 2
		return nil
	case rest[0] == '}':
		return p.errorf("} without {, expected }} for a brace in the text")
	case rest[0] == '{':
		inside, _, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return p.errorf("{ without }, expected {seq}, {date:yyyyMMdd}, or {{ for a brace in the text")
		}
		if err := p.part(inside); err != nil {
			return err
		}
		p.at += len(inside) + len("{}")
		return nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
		return p.errorf("%q is not a printable character, expected text such as %s", rest[:size], exampleFormat)
	}
	p.literal(rest[:size])
	p.at += size
	return nil
}

// literal adds literal text; it extends the part before if that is literal text too.
func (p *parser) literal(text string) {
	if last := len(p.f.parts) - 1; last >= 0 && p.f.parts[last].kind == literal {
		p.f.parts[last].literal += text
		return
	}
	p.f.parts = append(p.f.parts, part{kind: literal, literal: text})
}

// part parses the text between two braces.
func (p *parser) part(inside string) error {
	name, option, hasOption := strings.Cut(inside, ":")
	switch {
	case (name == "seq" || name == "code") && p.numbered:
		return p.errorf("a second {%s}, expected exactly one {seq} or {code}, for example %s", name, exampleFormat)
	case name == "seq":
		p.numbered = true
		return p.number(inside, option, hasOption)
	case name == "name":
		return p.ofName(inside, option)
	case name == "code":
		p.numbered = true
		return p.code(inside, option)
	case name == "check":
		return p.check(inside, option)
	case name == "date":
		return p.date(inside, option)
	case inside == "fy":
		return p.fiscalYear(inside, "yyyy")
	case name == "fy":
		return p.fiscalYear(inside, option)
	}
	if f, ok := fields[inside]; ok {
		p.field(f.kind, f.width)
		return nil
	}
	return p.errorf("{%s} is not a part of a format, expected %s, for example %s, or {{ for a brace in the text", clip(inside), partList, exampleFormat)
}

// field adds a field of a date.
func (p *parser) field(k kind, width int) {
	p.f.dates |= 1 << k
	p.f.parts = append(p.f.parts, part{kind: k, width: width})
}

// fields maps the parts that write one field of a date.
var fields = map[string]struct {
	kind  kind
	width int
}{
	"quarter": {quarter, 1}, "week": {week, 2}, "weekyear": {weekYear, 4}, "weekyear:yyyy": {weekYear, 4}, "weekyear:yy": {weekYear, 2},
	"dayofyear": {dayOfYear, 3},
}

// number parses the options of {seq}: [ENCODING] [WIDTH].
func (p *parser) number(inside, option string, hasOption bool) error {
	n := part{kind: number}
	width := option
	if e, err := snowflake.ParseEncoding(option); err == nil {
		n.encoding, hasOption = e, false
	} else if name, after, both := strings.Cut(option, ":"); both {
		if e, err := snowflake.ParseEncoding(name); err == nil {
			n.encoding, width = e, after
		}
	}
	if hasOption {
		digits := strings.TrimPrefix(width, "0") // padding, such as {seq:06}
		w, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || digits[0] == '0' || w > uint64(maxWidth) {
			return p.errorf("{%s} does not write the number, expected %s", clip(inside), seqOptionList)
		}
		n.width = int(w)
	}
	n.zero = n.encoding.Encode(0)[0]
	p.f.parts = append(p.f.parts, n)
	return nil
}

// code parses the options of {code}: the alphabet and the length.
func (p *parser) code(inside, option string) error {
	c, ok := parseCode(option)
	if !ok {
		return p.errorf("{%s} does not write a code, expected %s", clip(inside), codeOptionList)
	}
	p.f.parts = append(p.f.parts, part{kind: code, encoding: c.Encoding, width: c.Length})
	return nil
}

// check parses the option of {check}, the rule. The number or code comes before, in an encoding to which the rule applies.
func (p *parser) check(inside, option string) error {
	rule, ok := checks[option]
	if !ok {
		return p.errorf("{%s} is not a check digit, expected {check:luhn} or {check:crockford}", clip(inside))
	}
	if p.checked || !p.numbered {
		return p.errorf("{%s} without a number, expected it once, after {seq} or {code}", clip(inside))
	}
	p.checked = true
	for _, before := range p.f.parts {
		if (before.kind == number || before.kind == code) && before.encoding != rule.encoding {
			return p.errorf("{%s} cannot check this number or code, expected one in %s", clip(inside), rule.digits)
		}
	}
	p.f.parts = append(p.f.parts, part{kind: checkDigit, check: rule.kind})
	return nil
}

// dateKinds maps the letters of a date's field to the field, whose width is the number of letters.
var dateKinds = map[string]kind{"yyyy": year, "yy": year, "MM": month, "dd": day, "HH": hour, "mm": minute, "ss": second}

// date parses the layout of a {date:LAYOUT}.
func (p *parser) date(inside, layout string) error {
	count, err := p.runs(layout, func(letters string) error {
		k, ok := dateKinds[letters]
		if !ok {
			return p.errorf("%q in {%s} is not a part of a date, expected %s, for example {date:yyyyMMdd} or {date:HH:mm:ss}", clip(letters), clip(inside), datePartList)
		}
		p.field(k, len(letters))
		return nil
	})
	if err == nil && count == 0 {
		return p.errorf("{%s} has no part of a date, expected %s, for example {date:yyyyMMdd}", clip(inside), datePartList)
	}
	return err
}

// fiscalYear parses the layout of a {fy:LAYOUT}: the year of its last day, or those of its first and last day.
func (p *parser) fiscalYear(inside, layout string) error {
	var places []int
	years, err := p.runs(layout, func(letters string) error {
		if letters != "yyyy" && letters != "yy" {
			return p.errorf("%q in {%s} is not a year, expected yyyy or yy, for example {fy:yy} or {fy:yyyy-yy}", clip(letters), clip(inside))
		}
		places = append(places, len(p.f.parts))
		p.field(fiscalYear, len(letters))
		return nil
	})
	if err == nil && (years == 0 || years > 2) {
		return p.errorf("{%s} has %d years, expected one or two, for example {fy:yy} or {fy:yyyy-yy}", clip(inside), years)
	}
	if years == 2 {
		p.f.parts[places[0]].kind = fiscalFirstYear
		p.f.dates |= 1 << fiscalFirstYear
	}
	return err
}

// runs parses the layout of a date: it calls field for each run of one letter, and adds the separators as text. It returns the
// number of runs.
func (p *parser) runs(layout string, field func(letters string) error) (count int, err error) {
	for i := 0; i < len(layout); {
		if strings.IndexByte("-_/.:", layout[i]) >= 0 {
			p.literal(layout[i : i+1])
			i++
			continue
		}
		run := i + 1
		for run < len(layout) && layout[run] == layout[i] {
			run++
		}
		if err := field(layout[i:run]); err != nil {
			return count, err
		}
		count++
		i = run
	}
	return count, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrInvalidFormat, p.at, fmt.Sprintf(format, args...))
}

// clip makes a text from outside short and printable.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "..."
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
