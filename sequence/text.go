package sequence

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// Text is the content of a text that a [Format] wrote.
type Text struct {
	Number int64

	format *Format
	dates  string // the date parts without those of the time of day
}

// firstDay is the first day of all periods and dates of sequences.
var firstDay = time.Date(1970, time.January, 1, 12, 0, 0, 0, time.UTC)

// Parse returns the content of a text: the inverse of [Format.Append]. It checks literal text, digits, the check digit
// and times of day. Digits may have any case that [snowflake.Encoding.Decode] accepts. The error is an
// [ErrInvalidText] that says which part of the text is wrong. The format must have the key of its codes.
func (f *Format) Parse(text string) (Text, error) {
	r := reader{rest: text, written: Text{format: f}}
	r.digits = len(text)
	for i := range f.parts {
		r.digits -= f.parts[i].fixedWidth()
	}
	for i := range f.parts {
		if err := r.part(&f.parts[i]); err != nil {
			return Text{}, fmt.Errorf("%w: %q: %w", ErrInvalidText, clip(text), err)
		}
	}
	if r.rest != "" {
		return Text{}, fmt.Errorf("%w: %q: %q is too much at its end", ErrInvalidText, clip(text), clip(r.rest))
	}
	return r.written, nil
}

// fixedWidth returns the length of a part's text in bytes; 0 for {seq}, the only part whose length varies.
func (p *part) fixedWidth() int {
	switch p.kind {
	case literal, ofName:
		return len(p.literal)
	case number:
		return 0
	case code:
		return p.width
	case checkDigit:
		return 1
	}
	return p.width
}

// reader reads a text, part by part.
type reader struct {
	rest    string
	digits  int    // length of the number of {seq}
	checked []byte // digits of the number or code in the notation of the format
	written Text
}

// take returns the next part of the text, of that length.
func (r *reader) take(length int) (text string, err error) {
	if length > len(r.rest) || length < 0 {
		return "", fmt.Errorf("the text is too short, expected one of the format %q", r.written.format)
	}
	text, r.rest = r.rest[:length], r.rest[length:]
	return text, nil
}

func (r *reader) part(p *part) error {
	width := p.fixedWidth()
	if p.kind == number {
		width = r.digits
	}
	text, err := r.take(width)
	if err != nil {
		return err
	}
	switch p.kind {
	case literal, ofName:
		if text != p.literal {
			return fmt.Errorf("found %q, expected %q", clip(text), p.literal)
		}
	case number:
		return r.number(p, text)
	case code:
		return r.code(text)
	case checkDigit:
		if want := p.check.append(nil, r.checked); !p.check.same(text[0], want[0]) {
			return fmt.Errorf("the check digit %q of {check:%v} does not match; a character is wrong, or two are exchanged", text, p.check)
		}
	default:
		return r.date(p, text)
	}
	return nil
}

func (r *reader) number(p *part, text string) error {
	negative := text != "" && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n, err := p.encoding.Decode(text)
	if err != nil {
		return err
	}
	r.checked = p.appendDigits(nil, n)
	switch {
	case len(r.checked) != len(text):
		return fmt.Errorf("the number %q has zeros in front, expected %q", clip(text), r.checked)
	case negative && n == 0 || negative && n > 1<<63 || !negative && n > math.MaxInt64:
		return fmt.Errorf("the number %q is not one of 64 bits with a sign", clip(text))
	case negative:
		n = -n
	}
	r.written.Number = int64(n) // wraps for negative numbers
	return nil
}

func (r *reader) code(text string) error {
	coder := r.written.format.coder
	if coder == nil {
		return errors.New("the format has no key")
	}
	for i := range len(text) {
		if _, err := coder.code.Encoding.Decode(text[i : i+1]); err != nil {
			return fmt.Errorf("%q is not a character of the code, which has only %v", clip(text[i:i+1]), coder.code)
		}
		value, _ := coder.code.Encoding.Decode(text[i : i+1])
		r.checked = coder.code.Encoding.Append(r.checked, value)
	}
	n, ok := coder.number(text)
	if !ok {
		return fmt.Errorf("no number has the code %q", clip(text))
	}
	r.written.Number = n
	return nil
}

func (r *reader) date(p *part, text string) error {
	value := 0
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return fmt.Errorf("found %q, expected the digits of a date", clip(text))
		}
		value = value*10 + int(digit-'0')
	}
	switch {
	case p.kind != hour && p.kind != minute && p.kind != second:
		r.written.dates += text
	case value > 59, p.kind == hour && value > 23:
		return fmt.Errorf("found %q, expected a time of day", text)
	}
	return nil
}

// same reports whether a typed check digit is the one that the package writes.
func (k checkKind) same(typed, written byte) bool {
	if typed == written || k == luhn {
		return typed == written
	}
	a, errA := snowflake.Base32.Decode(string(typed))
	b, errB := snowflake.Base32.Decode(string(written))
	return errA == nil && errB == nil && a == b || typed == 'u' && written == 'U'
}

// Period returns the period of the text, by the dates in it, in the calendar of the format. A text is at most a day
// younger than now, a time in the location of the sequence. known is false if the dates do not name a period. The
// error is an [ErrInvalidText] if there is no such day.
func (t Text) Period(c Calendar, now time.Time) (p Period, known bool, err error) {
	known = c.CheckFormat(t.format) == nil
	if t.dates == "" {
		return 0, known, nil
	}
	year, month, today := now.Date()
	var written []byte
	for day := time.Date(year, month, today+1, 12, 0, 0, 0, time.UTC); !day.Before(firstDay); day = day.AddDate(0, 0, -1) {
		if written = t.format.appendDay(written[:0], day); string(written) != t.dates {
			continue
		}
		if !known {
			return 0, false, nil
		}
		return c.PeriodAt(day), true, nil
	}
	return 0, false, fmt.Errorf("%w: its date is not from 1970 to today", ErrInvalidText)
}

// appendDay appends the date parts without those of the time of day.
func (f *Format) appendDay(dst []byte, day time.Time) []byte {
	d := dateOf(day, f.yearStarts, f.dates)
	for i := range f.parts {
		switch p := &f.parts[i]; p.kind {
		case literal, ofName, number, code, checkDigit, hour, minute, second:
		default:
			dst = appendDigits(dst, d[p.kind], p.width)
		}
	}
	return dst
}
