package trust

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Refusals that the audit log has lines for: so many at once, and per second. Later lines count those without one.
const (
	auditBurst = 100
	auditRate  = 10
)

// The outcomes of an audited call.
const (
	AuditDone    = "done"
	AuditRefused = "refused" // for lack of a right
	AuditFailed  = "failed"  // for another reason; the call may have been done after a failure with an unknown outcome
)

// AuditLine is the record of one administrative call. It holds no secrets.
type AuditLine struct {
	Time     time.Time       `json:"time"`
	Actor    string          `json:"actor"`
	Address  string          `json:"address,omitempty"` // of the caller, or of the member that forwards the call
	Method   string          `json:"method"`
	Resource string          `json:"resource,omitempty"`
	Before   json.RawMessage `json:"before,omitempty"`
	After    json.RawMessage `json:"after,omitempty"`
	Index    uint64          `json:"index,omitempty"` // of the command in the Raft log
	Outcome  string          `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	// Suppressed is the number of refusals before it that have no line.
	Suppressed uint64 `json:"suppressed,omitempty"`
}

// AuditLog writes lines of JSON. It is safe for concurrent use. The nil AuditLog writes nothing.
type AuditLog struct {
	file   io.Writer // nil: the logger
	logger *slog.Logger

	refusals   bucket
	mu         sync.Mutex // one line after another
	suppressed uint64
}

// NewAuditLog returns the audit log of a member: lines in a file, or in the log if file is nil.
func NewAuditLog(file io.Writer, logger *slog.Logger) *AuditLog {
	a := &AuditLog{file: file, logger: logger}
	a.refusals.fill()
	return a
}

// Write writes a line with the present time. A line that cannot be written to the file goes to the log.
func (a *AuditLog) Write(line AuditLine) {
	if a == nil {
		return
	}
	line.Time = time.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	if line.Outcome == AuditRefused && a.refusals.take(1, auditRate, auditBurst) > 0 {
		a.suppressed++
		return
	}
	line.Suppressed, a.suppressed = a.suppressed, 0
	if a.file != nil {
		text, err := json.Marshal(line)
		if err == nil {
			_, err = a.file.Write(append(text, '\n'))
		}
		if err == nil {
			return
		}
		a.logger.Error("audit log not written; line follows", "error", err)
	}
	a.logger.LogAttrs(context.Background(), slog.LevelInfo, "call audited", line.attrs()...)
}

// attrs returns the line for the log, which has a time of its own.
func (l AuditLine) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("actor", l.Actor), slog.String("method", l.Method), slog.String("outcome", l.Outcome)}
	for key, value := range map[string]string{
		"address": l.Address, "resource": l.Resource, "before": string(l.Before), "after": string(l.After), "reason": l.Reason,
	} {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	for key, value := range map[string]uint64{"index": l.Index, "suppressed": l.Suppressed} {
		if value != 0 {
			attrs = append(attrs, slog.Uint64(key, value))
		}
	}
	slices.SortFunc(attrs, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return attrs
}

type indexKey struct{}

// WithIndex returns a context of an audited call, which notes the Raft index of its command in *index.
func WithIndex(ctx context.Context, index *uint64) context.Context {
	return context.WithValue(ctx, indexKey{}, index)
}

// NoteIndex notes the Raft index of an audited call's command.
func NoteIndex(ctx context.Context, index uint64) {
	if note, ok := ctx.Value(indexKey{}).(*uint64); ok {
		*note = index
	}
}
