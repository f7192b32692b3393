// Package logging passes what hashicorp's libraries log on to slog.
package logging

import (
	"context"
	"io"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// logPause is how long one message of raft or memberlist is not repeated:
	// both log every single failed attempt to reach a member that is down.
	logPause = 30 * time.Second
	// maxLogKinds bounds the messages remembered for that.
	maxLogKinds = 256
)

// slogSink passes the records of hashicorp's loggers on to slog, one level
// lower: their Info is daily routine, their Error a try that will be repeated.
type slogSink struct {
	logger *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time // by component and message
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
	if !s.logger.Enabled(ctx, to) || (to > slog.LevelDebug && s.repeated(name+msg)) {
		return
	}
	s.logger.Log(ctx, to, msg, append([]any{"component", name}, args...)...)
}

func (s *slogSink) repeated(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.last[key]; ok && now.Sub(at) < logPause {
		return true
	}
	if len(s.last) >= maxLogKinds {
		clear(s.last)
	}
	s.last[key] = now
	return false
}

// Hashicorp returns a logger for one component. Its records arrive one level lower, and a repeated
// message at most once in logPause.
func Hashicorp(logger *slog.Logger, name string) hclog.InterceptLogger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: name, Level: hclog.Off, Output: io.Discard})
	l.RegisterSink(&slogSink{logger: logger, last: make(map[string]time.Time)})
	return l
}

// Standard returns the same for a component that takes a logger of the standard library.
func Standard(logger *slog.Logger, name string) *log.Logger {
	return Hashicorp(logger, name).StandardLogger(&hclog.StandardLoggerOptions{InferLevels: true})
}
