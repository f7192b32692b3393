package overview

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// clockTime returns a time of day for people, in UTC, rounded down: with seconds if it is within minutes of now, with the
// date if it is not within a day.
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

// capital returns a text as the beginning of a sentence.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
