package frontend

import (
	"fmt"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/trust"
)

// Events records what people look back on. It may be called from any goroutine.
type Events interface {
	// Refused counts a request that failed.
	Refused(reason string, level slog.Level)
	// Add records an event, or counts it with others of its key.
	Add(e events.Event, key string)
}

// severity returns the level of a failed request: a warning if the member, and not the caller, is the cause.
func severity(code codes.Code) slog.Level {
	switch code {
	case codes.Internal, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Unknown:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// eventOf returns the event of a line of the audit log, and the key of events like it. Names given by a caller are not in the key
// of a call that was not done, so that a caller who tries many names causes one event.
func eventOf(line trust.AuditLine) (e events.Event, key string) {
	did := sentence(path.Base(line.Method))
	if line.Resource != "" {
		did += " " + strconv.Quote(line.Resource)
	}
	e = events.Event{Kind: events.Administration, Actor: line.Actor, Address: line.Address, Index: line.Index, Text: did}
	if line.Outcome == trust.AuditDone {
		return e, fmt.Sprint(did, " ", line.Actor, " ", line.Index)
	}
	e.Kind, e.Level, e.Reason = events.Denial, slog.LevelWarn, line.Reason
	e.Text = did + ": " + line.Outcome
	return e, fmt.Sprint(line.Method, " ", line.Actor, " ", line.Reason)
}

// sentence returns the name of a method as words: UpdateSequence is "update sequence".
func sentence(method string) string {
	var words strings.Builder
	for i, c := range method {
		if unicode.IsUpper(c) && i > 0 {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(c))
	}
	return words.String()
}
