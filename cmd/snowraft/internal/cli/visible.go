package cli

import (
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/names"
)

// Visible returns text without characters that a terminal could obey: they are written as in Go, such as \x1b. Ends of
// lines and the looks of a [Style] stay.
func Visible(text string) string {
	if strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		if look := lookOf(text); look != "" {
			b.WriteString(look)
			text = text[len(look):]
			continue
		}
		line, rest, more := strings.Cut(text[1:], "\x1b")
		b.WriteString(escape(text[:1]+line, obeyed))
		text = ""
		if more {
			text = "\x1b" + rest
		}
	}
	return b.String()
}

// lookOf returns the sequence of a [Style] with which text begins; empty if there is none.
func lookOf(text string) string {
	for _, look := range []string{bold, faint, red, green, plain} {
		if strings.HasPrefix(text, look) {
			return look
		}
	}
	return ""
}

// obeyed reports whether a terminal could obey a character other than a newline.
func obeyed(r rune) bool { return r != '\n' && names.Control(r) }

// escape returns text in which the characters of a class are written as in Go.
func escape(text string, class func(rune) bool) string {
	if strings.IndexFunc(text, class) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if class(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
