package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

const (
	// auditBurst and auditRate bound the lines of calls that were not done, at once and per second: for all
	// refused calls together, and for the failed calls of each actor. Later lines count the calls without a
	// line.
	auditBurst = 100
	auditRate  = 10
	// maxAuditText bounds texts of callers and maxAuditState the states before and after, each in bytes.
	// maxAuditActors bounds the actors whose rates are remembered.
	maxAuditText   = 256
	maxAuditState  = 8 << 10
	maxAuditActors = 1000
)

// The outcomes of an audited call.
const (
	AuditDone    = "done"
	AuditRefused = "refused" // the caller lacks a right
	AuditFailed  = "failed"  // any other error; after an unknown outcome, the call may have been done
)

// AuditLine is the record of one administrative call. It holds no secrets.
type AuditLine struct {
	Time     time.Time       `json:"time"`               // UTC; set by [AuditLog.Write]
	Actor    string          `json:"actor"`              // see [Principal.Actor]
	Address  string          `json:"address,omitempty"`  // address of the caller, or of the member that forwards the call
	Method   string          `json:"method"`             // full gRPC method, without the slash in front
	Resource string          `json:"resource,omitempty"` // name that the call is about
	Before   json.RawMessage `json:"before,omitempty"`   // resource before the call
	After    json.RawMessage `json:"after,omitempty"`    // response of a call that changed something
	Index    uint64          `json:"index,omitempty"`    // index of the entry in the Raft log
	Outcome  string          `json:"outcome"`            // AuditDone, AuditRefused or AuditFailed
	Reason   string          `json:"reason,omitempty"`   // reason of the error; empty if done
	// Suppressed is the number of earlier calls, refused or failed, that have no line.
	Suppressed uint64 `json:"suppressed,omitempty"`
}

// AuditLog writes lines of JSON. It is safe for concurrent use. The nil AuditLog writes nothing.
type AuditLog struct {
	file   io.Writer // nil if the logger gets the lines
	logger *slog.Logger

	refusals   bucket
	mu         sync.Mutex         // serializes lines
	failures   map[string]*bucket // key: actor
	suppressed uint64
}

// NewAuditLog returns the audit log of a member. It writes lines to file, or to the logger if file is nil.
func NewAuditLog(file io.Writer, logger *slog.Logger) *AuditLog {
	a := &AuditLog{file: file, logger: logger, failures: make(map[string]*bucket)}
	a.refusals.fill()
	return a
}

// Write writes a line with the present time. It drops a refused or failed call after 100 such lines at once and beyond
// 10 per second, for all refused calls together and for the failed calls of each actor. A line that cannot
// be written to the file is written to the logger. Write returns the line as written, or as it would be
// written: clipped, and without secrets.
func (a *AuditLog) Write(line AuditLine) AuditLine {
	line.Time = time.Now().UTC()
	line.Resource, line.Reason = clip(line.Resource), clip(line.Reason)
	line.Before, line.After = clipState(line.Before), clipState(line.After)
	if a != nil {
		a.write(line)
	}
	return line
}

func (a *AuditLog) write(line AuditLine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b := a.bucket(line); b != nil && b.take(1, auditRate, auditBurst) > 0 {
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

// bucket returns the bucket that bounds the rate of a line; nil for none. Requires a.mu.
func (a *AuditLog) bucket(line AuditLine) *bucket {
	switch line.Outcome {
	case AuditRefused:
		return &a.refusals
	case AuditFailed:
		b := a.failures[line.Actor]
		if b == nil {
			if len(a.failures) >= maxAuditActors {
				clear(a.failures)
			}
			b = &bucket{}
			b.fill()
			a.failures[line.Actor] = b
		}
		return b
	default:
		return nil
	}
}

// clip returns the beginning of a text without secrets, as valid text that JSON does not lengthen much.
func clip(text string) string {
	text = Mask(text)
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text[:min(len(text), maxAuditText)])
	if len(text) <= maxAuditText && len(clean) <= maxAuditText {
		return clean
	}
	return strings.ToValidUTF8(clean[:min(len(clean), maxAuditText)], "") + "..."
}

// clipState returns a JSON value without secrets, or an object with its length if it is too long.
func clipState(state json.RawMessage) json.RawMessage {
	if len(state) <= maxAuditState {
		if len(state) == 0 {
			return nil
		}
		return json.RawMessage(Mask(string(state)))
	}
	return fmt.Appendf(nil, `{"clipped":%d}`, len(state))
}

// attrs returns the attributes of the line for the logger, which adds its own time.
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

// Index is the Raft index of an audited call's command; 0 until it is known. A call with an unknown outcome may
// set it later.
type Index = atomic.Uint64

type indexKey struct{}

// WithIndex returns a context of an audited call. NoteIndex stores the Raft index of its command in index.
func WithIndex(ctx context.Context, index *Index) context.Context {
	return context.WithValue(ctx, indexKey{}, index)
}

// NoteIndex stores the Raft index of an audited call's command in the Index of ctx, if there is one.
func NoteIndex(ctx context.Context, index uint64) {
	if note, ok := ctx.Value(indexKey{}).(*Index); ok {
		note.Store(index)
	}
}
