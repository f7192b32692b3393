package overview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// clockTime returns a time of day for people, in UTC, rounded down. It includes seconds if the time is less than 2 minutes
// away from now, and the date if it is more than 20 hours away.
func clockTime(at, now int64) string {
	format := "15:04 UTC"
	switch distance := time.Duration(max(at-now, now-at)) * time.Millisecond; {
	case distance < 2*time.Minute:
		format = "15:04:05 UTC"
	case distance > 20*time.Hour:
		format = "2006-01-02 15:04 UTC"
	}
	return time.UnixMilli(at).UTC().Format(format)
}

// span returns a duration for people, rounded down: below a second in ms, below ten seconds with at most two digits,
// otherwise in whole seconds.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', -1, 64) + " s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int64(d.Seconds()))
	default:
		return strings.TrimSuffix(d.Truncate(time.Second).String(), "0s")
	}
}

// offset returns the absolute offset of a clock for people, rounded so that measurements of one offset give one text. It does
// not round to the limit that the offset exceeds.
func offset(ms, limit int64) string {
	step := int64(1)
	switch {
	case ms >= 10_000:
		step = 1000
	case ms >= 1000:
		step = 200
	case ms >= 100:
		step = 20
	}
	if rounded := (ms + step/2) / step * step; rounded > limit {
		ms = rounded
	}
	return span(time.Duration(ms) * time.Millisecond)
}

// capital capitalizes the beginning of a text, unless the text begins with one of the names.
func capital(text string, names []string) string {
	word, _, _ := strings.Cut(text, " ")
	if slices.Contains(names, strings.TrimSuffix(word, ",")) {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// count returns a number with its noun.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// verb returns the form of a verb for n subjects.
func verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func names(members []*snowraftv1.MemberView) (all []string) {
	for _, m := range members {
		all = append(all, m.GetMember().GetName())
	}
	return all
}

// maxNames is the largest number of names in a list for people.
const maxNames = 4

// list joins names: "a, b and c".
func list(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames-1], ", "), len(names)-maxNames+1)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// keys returns the keys of a map in ascending order.
func keys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
