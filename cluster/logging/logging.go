// Package logging forwards the log records of hashicorp's libraries to slog.
package logging

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// logPause is the time in which equal messages of raft or memberlist are logged once: both log every failed attempt to reach a
	// member that is down.
	logPause = 30 * time.Second
	// maxLogKinds bounds the remembered messages, and so the messages per logPause. Messages of memberlist contain addresses,
	// so strangers can cause any number of them.
	maxLogKinds = 64
)

// Namer returns the name of the member with an ID; empty if the name is not known.
type Namer func(id string) string

// slogSink forwards the records of hashicorp's loggers to slog, one level lower: their Info is routine, and their Error is an
// attempt that they repeat.
type slogSink struct {
	logger *slog.Logger
	name   Namer // nil keeps IDs

	mu    sync.Mutex
	since time.Time
	seen  map[string]bool // components and messages of the records since then
}

// Accept implements hclog.SinkAdapter.
func (s *slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	switch {
	case level >= hclog.Error:
		to = slog.LevelWarn
	case level >= hclog.Warn:
		to = slog.LevelInfo
	}
	ctx := context.Background()
	if expected.MatchString(fmt.Sprintln(append([]any{msg}, args...)...)) {
		to = slog.LevelDebug
	}
	if !s.logger.Enabled(ctx, to) || (to > slog.LevelDebug && s.repeated(name+msg)) {
		return
	}
	about := []any{"component", name}
	for i, arg := range args {
		if i%2 == 1 { // a value, not its key
			arg = s.readable(arg)
		}
		about = append(about, arg)
	}
	s.logger.Log(ctx, to, s.named(msg), about...)
}

// expected matches records of what each healthy start and stop brings. A new member has no peers and no log yet, so the leader
// sends older entries. Raft and memberlist send until they learn that a connection is closed. The heartbeats to a member that stops
// report that, too.
var expected = regexp.MustCompile(`^no known peers, aborting election|^failed to get previous log|^appendEntries rejected, sending older logs` +
	`|^failed to appendEntries to .*(connection refused|connection reset by peer|broken pipe|EOF)|use of closed network connection|transport shutdown`)

var (
	memberID = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// raftServer matches a server of raft's configuration as fmt prints it.
	raftServer = regexp.MustCompile(`\{Suffrage:\w+ ID:\S+ Address:([^\s}]+)\}`)
)

// readable returns a value with members' IDs replaced by their names. Numbers, durations and similar values stay unchanged.
func (s *slogSink) readable(value any) any {
	switch v := value.(type) {
	case hclog.Format:
		if format, ok := v[0].(string); ok {
			return s.named(fmt.Sprintf(format, v[1:]...))
		}
		return value
	case bool, int, int64, uint64, float64, time.Duration, time.Time:
		return value
	default:
		return s.named(fmt.Sprintf("%+v", v))
	}
}

func (s *slogSink) named(text string) string {
	if s.name == nil {
		return text
	}
	text = raftServer.ReplaceAllString(text, "$1") // the address begins with the ID
	return memberID.ReplaceAllStringFunc(text, func(id string) string { return cmp.Or(s.name(id), id) })
}

func (s *slogSink) repeated(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= logPause {
		s.since, s.seen = now, make(map[string]bool)
	}
	if s.seen[key] || len(s.seen) >= maxLogKinds {
		return true
	}
	s.seen[key] = true
	return false
}

// Hashicorp returns a logger for one component. Its records reach logger one level lower, with members' names instead of
// their IDs, and a repeated message once in each period of 30 s.
func Hashicorp(logger *slog.Logger, component string, name Namer) hclog.InterceptLogger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: component, Level: hclog.Off, Output: io.Discard})
	l.RegisterSink(&slogSink{logger: logger, name: name})
	return l
}

// Standard returns a logger like that of Hashicorp, for a component that takes a logger of the standard library.
func Standard(logger *slog.Logger, component string, name Namer) *log.Logger {
	return Hashicorp(logger, component, name).StandardLogger(&hclog.StandardLoggerOptions{InferLevels: true})
}
