package kernel

import (
	"fmt"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Events records events for operators. Its methods may be called from any goroutine.
type Events interface {
	// Refused counts a failed request.
	Refused(reason string, level slog.Level)
	// Add records an event, or adds it to the count of an event with the same key.
	Add(e events.Event, key string)
}

// severity returns the level of a failed request: warning if the member, not the caller, is the cause.
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

// eventOf returns the event for a line of the audit log, and its key. Events with the same key are counted together. The key
// of a failed call contains no names chosen by the caller, so that a caller that tries many names causes only one event.
func eventOf(line trust.AuditLine) (e events.Event, key string) {
	did := sentence(path.Base(line.Method))
	if line.Resource != "" {
		did += " " + strconv.Quote(line.Resource)
	}
	e = events.Event{Kind: events.Administration, Actor: line.Actor, Address: line.Address, Index: line.Index, Text: did}
	if rule := rpc.RuleOf("/" + line.Method); rule != nil && strings.HasPrefix(rule.GetRight(), "seq:") {
		e.Named = line.Resource
	}
	if line.Outcome == trust.AuditDone {
		return e, fmt.Sprint(did, " ", line.Actor, " ", line.Index)
	}
	e.Kind, e.Level, e.Reason = events.Denial, slog.LevelWarn, line.Reason
	e.Text = did + ": " + line.Outcome
	return e, fmt.Sprint(line.Method, " ", line.Actor, " ", line.Reason)
}

// sentence splits the name of a method into words: UpdateSequence becomes "update sequence".
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
