package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// plain returns a text on one line without control characters, which could steer a terminal.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// cut returns plain text of at most "most" runes; an ellipsis ends a shortened text.
func cut(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}

// grouped formats an integer with spaces between thousands.
func grouped[T int | int64 | uint64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	if n > 0 {
		text = strconv.FormatUint(uint64(n), 10)
	}
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return sign + text
}

// plural formats a count with the singular or plural of thing.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(n) + " " + thing + "s"
}

// short formats a duration with three digits, or to the second from one minute.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d >= time.Minute:
		return d.Round(time.Second).String()
	}
	for unit := time.Nanosecond; unit < 10*time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

// clockFace formats a time since the start of the run, to the tenth of a second.
func clockFace(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	tenths := d / (100 * time.Millisecond)
	text := fmt.Sprintf("%02d:%02d.%d", tenths/600%60, tenths/10%60, tenths%10)
	if hours := tenths / 36000; hours > 0 {
		text = fmt.Sprintf("%d:%s", hours, text)
	}
	return text
}

// wrap breaks text between words into lines of at most columns runes; a longer word has its own
// line. The first line follows head, and the others are indented by the length of head.
func wrap(head, text string) string {
	var b strings.Builder
	b.WriteString(head)
	at := len([]rune(head))
	indent := strings.Repeat(" ", at)
	empty := true
	for word := range strings.FieldsSeq(text) {
		length := len([]rune(word))
		switch {
		case empty:
		case at+1+length > columns:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += length
		empty = false
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
