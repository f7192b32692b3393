package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Stamp formats an instant in the form that all of Snowraft uses: RFC 3339, UTC, milliseconds.
func Stamp(unixMillis int64) string {
	return time.UnixMilli(unixMillis).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// TextIf returns the formatted text if show is set, otherwise "".
func TextIf(show bool, format string, args ...any) string {
	if !show {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// StampKnown is [Stamp] for instants that may be unknown. It returns "" for 0, an unknown instant.
func StampKnown(unixMillis int64) string {
	if unixMillis == 0 {
		return ""
	}
	return Stamp(unixMillis)
}

// Holder names the holder of a worker and its API token. It includes the ID of the token, because another token can have the
// name of a deleted token.
func Holder(g *snowraftv1.WorkerGrant) string {
	if id := g.GetHolderTokenId(); id != 0 {
		return fmt.Sprintf("%s (API token %d)", g.GetHolder(), id)
	}
	return g.GetHolder()
}

// Process describes the process of a worker's holder in words; empty if the holder did not.
func Process(g *snowraftv1.WorkerGrant) string { return rpc.ProcessText(g.GetProcess()) }

// human formats a duration without zero parts at the end: 10m, not 10m0s.
func human(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// days formats a duration in days, if it has only whole ones.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return human(d)
}

// DayMilliseconds formats a number of milliseconds in days, such as "45d", if it has only whole ones.
func DayMilliseconds(ms int64) string { return days(time.Duration(ms) * time.Millisecond) }

// Milliseconds formats a number of milliseconds as a duration, such as "10m".
func Milliseconds(ms int64) string { return human(time.Duration(ms) * time.Millisecond) }

// Decimal formats a number in decimal digits.
func Decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// Offset formats the difference between two clocks in milliseconds, with its sign. A positive difference is ahead.
func Offset(ms int64) string { return fmt.Sprintf("%+d ms", ms) }

// Word returns the word of an enum value; empty for the unspecified value.
func Word[E apijson.Enum](e E) string {
	if e == 0 {
		return ""
	}
	return apijson.Word(e)
}

// Innermost returns the innermost cause of err, such as "permission denied" without path and call.
func Innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// Unreadable returns a usage error if err reports that the file given as an argument cannot be read, and err otherwise.
func Unreadable(argument string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return Usagef("%s %q: cannot be read (%v); choose another file", argument, path.Path, Innermost(err))
	}
	return err
}

// Unwritable returns a usage error if err reports that the new file given as an argument cannot be written, and err otherwise.
func Unwritable(argument, file string, err error) error {
	path, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok || path.Path != file:
		return err
	case errors.Is(path, fs.ErrExist):
		return Usagef("%s %q: the file exists; choose another name", argument, file)
	default:
		return Usagef("%s %q: cannot be written (%v); choose another file", argument, file, Innermost(path))
	}
}

// OneLine returns text with each run of white space as a single space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Map returns the results of f for each item. The list is never nil, so it is never null in JSON.
func Map[T, R any](f func(T) R, items []T) []R {
	made := make([]R, len(items))
	for i, item := range items {
		made[i] = f(item)
	}
	return made
}
