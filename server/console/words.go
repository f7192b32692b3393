package console

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/snowraft/snowraft/trust"
)

// functions holds the functions of all templates. Their times are in Unix ms; 0 is unknown.
var functions = template.FuncMap{
	"clock":   clockTime,
	"stamp":   stamp,
	"iso":     iso,
	"span":    span,
	"offset":  offset,
	"rate":    rate,
	"shell":   shell,
	"grouped": grouped,
	"create":  create,
	"ended":   ended,
	"command": func(text string) command { return command{Text: text} },
	"change":  func(label, text string) command { return command{Text: text, Label: label} },
}

// command is a command to copy. A command with a label is collapsed.
type command struct{ Text, Label string }

// shell quotes a word of a command for a shell, if necessary.
func shell(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:,@+", r)
	}
	if word != "" && strings.TrimLeftFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ended returns a text that ends with a punctuation mark. It adds a period if necessary.
func ended(text string) string {
	if text == "" || strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

// create returns the command that creates a token for viewers.
func create(scopes []trust.Scope) string {
	words := []string{"snowraft token create console"}
	for _, s := range scopes {
		words = append(words, "--scope", shell(string(s)))
	}
	return strings.Join(words, " ")
}

const unknown = "–"

// clockTime returns a time of day, in UTC.
func clockTime(ms int64) string {
	if ms == 0 {
		return unknown
	}
	return time.UnixMilli(ms).UTC().Format("15:04:05")
}

// stamp returns a date and time, in UTC.
func stamp(ms int64) string {
	if ms == 0 {
		return unknown
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}

// day returns a date, in UTC.
func day(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02") }

// iso returns a time in the format of the HTML element "time".
func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// span returns a duration in ms with at most two units, like assets/console.js.
func span(ms int64) string {
	seconds := max(0, ms) / 1000
	switch {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
	case seconds < 48*3600:
		return fmt.Sprintf("%d h %02d min", seconds/3600, seconds/60%60)
	}
	return fmt.Sprintf("%d days", seconds/86400)
}

// offset returns the offset of a clock, with a sign.
func offset(ms int64) string {
	sign := "+"
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 0:
		sign, ms = "−", -ms
	}
	switch {
	case ms >= 1000 && ms < 60_000 && ms%1000 == 0:
		return fmt.Sprintf("%s%d s", sign, ms/1000)
	case ms < 10_000:
		return fmt.Sprintf("%s%d ms", sign, ms)
	case ms < 100_000:
		return fmt.Sprintf("%s%.1f s", sign, float64(ms)/1000)
	}
	return sign + span(ms)
}

// rate returns a rate per second, rounded to a short text; nil is unknown.
func rate(perSecond *float64) string {
	if perSecond == nil || math.IsNaN(*perSecond) {
		return unknown
	}
	switch n := *perSecond; {
	case n <= 0:
		return "0"
	case n < 0.1:
		return "< 0.1"
	case n < 10:
		return strconv.FormatFloat(n, 'f', 1, 64)
	case n < 1000:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n < 1e6:
		return strconv.FormatFloat(n/1e3, 'f', 1, 64) + " k"
	default:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + " M"
	}
}

// stampMillis returns a date and time with milliseconds, in UTC.
func stampMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }

// ago returns the distance of a time from now in words. ms is the distance in ms, negative for the past.
func ago(ms int64) string {
	switch {
	case ms <= -1000:
		return span(-ms) + " ago"
	case ms >= 1000:
		return "in " + span(ms)
	}
	return "now"
}

// titled returns a word with a capital letter.
func titled(word string) string {
	if word == "" {
		return unknown
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// argument returns a name as an argument of a command.
func argument(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + shell(name)
	}
	return shell(name)
}

// plural returns a noun in the number that fits a count.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// percent returns a part as a percentage that is 0 or 100 only if it is that exactly.
func percent(part float64) string {
	switch p := 100 * part; {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	case p > 99.9 && p < 100:
		return "> 99.9 %"
	case p < 10, p > 99 && p < 100:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	default:
		return strconv.FormatFloat(min(p, 100), 'f', 0, 64) + " %"
	}
}

// grouped returns a number with spaces between groups of three digits.
func grouped(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "−", number[1:]
	}
	var b strings.Builder
	for i, c := range number {
		if i > 0 && (len(number)-i)%3 == 0 {
			b.WriteRune('\u202f') // narrow space without a line break
		}
		b.WriteRune(c)
	}
	return sign + cmp.Or(b.String(), unknown)
}
